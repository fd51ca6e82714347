/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CHECK_OTELCTX_H
#define TESTS_CHECK_OTELCTX_H

#include <check.h>

TCase	*otelctx_update_case(void);	/* check_otelctx_update.c */
TCase	*otelctx_holders_case(void);	/* check_otelctx_holders.c */

#endif
