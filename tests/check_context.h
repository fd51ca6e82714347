/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECK_CONTEXT_H
#define CHECK_CONTEXT_H

#include <check.h>

Suite	*read_suite(void);

#endif
