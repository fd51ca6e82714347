/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's log: stderr, one line a message, `ringsided: what failed: on what: why; what to do`.
 * Levels error, warn, info, debug.  text or json; under systemd ($JOURNAL_STREAM) text lines carry
 * <N> prefixes.  log_limited() says the same thing at most once per ten seconds per call site and tells
 * how many it left out.  Control bytes in arguments are escaped: they come from tenants.  Thread-safe.
 */
#ifndef RINGSIDE_LOG_H
#define RINGSIDE_LOG_H
#include <stdint.h>
#include <stdbool.h>
enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };
struct log_limit { uint64_t last_ns; uint32_t suppressed; };
void log_init(enum log_level level, bool json);
bool log_enabled(enum log_level level);
void log_at(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_at_limited(struct log_limit *l, enum log_level level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define log_error(...) log_at(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_at(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_at(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) do { if (log_enabled(LOG_LEVEL_DEBUG)) log_at(LOG_LEVEL_DEBUG, __VA_ARGS__); } while (0)
#define log_limited(level, ...) do { static struct log_limit limit_; log_at_limited(&limit_, level, __VA_ARGS__); } while (0)
#endif
