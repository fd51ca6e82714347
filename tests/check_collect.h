/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RINGSIDE_CHECK_COLLECT_H
#define RINGSIDE_CHECK_COLLECT_H

#include <check.h>

TCase	*tcase_order(void);
TCase	*tcase_sideband(void);
TCase	*tcase_journal(void);
TCase	*tcase_replay(void);

#endif
