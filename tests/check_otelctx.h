/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CHECK_OTELCTX_H
#define TESTS_CHECK_OTELCTX_H

#include <check.h>

/*
 * Sanitizers do not come through the fork of a process with threads: their allocator
 * stays locked, or they refuse to start a thread in the child.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

TCase	*otelctx_update_case(void);	/* check_otelctx_update.c */
TCase	*otelctx_steps_case(void);	/* check_otelctx_steps.c */
TCase	*otelctx_holders_case(void);	/* check_otelctx_holders.c */

#endif
