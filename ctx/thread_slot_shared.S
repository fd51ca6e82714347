/* SPDX-License-Identifier: Apache-2.0 */
/* thread_slot.S, for shared libraries. */
#define OTELCTX_SHARED
#include "ctx/thread_slot.S"
