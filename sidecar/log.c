/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "sidecar/log.h"

#define NS_PER_S 1000000000ull
#define LIMIT_NS (10 * NS_PER_S)
#define MESSAGE_MAX 2048	/* bytes before escaping; what is cut ends in "..." */
#define LINE_MAX_BYTES (MESSAGE_MAX * 6 + 256)

static const struct { const char *name; int priority; } levels[] = {
	[LOG_LEVEL_ERROR] = { "error", 3 },
	[LOG_LEVEL_WARN] = { "warn", 4 },
	[LOG_LEVEL_INFO] = { "info", 6 },
	[LOG_LEVEL_DEBUG] = { "debug", 7 },
};

static struct {
	pthread_mutex_t	lock;
	enum log_level	level;
	bool		json, journal;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER, .level = LOG_LEVEL_INFO };

struct line { char buf[LINE_MAX_BYTES]; size_t n; };

/* Whether stderr is the socket that systemd connected to the journal. */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
	       !fstat(STDERR_FILENO, &st) && st.st_dev == dev && st.st_ino == ino;
}

void log_init(enum log_level level, bool json)
{
	pthread_mutex_lock(&state.lock);
	__atomic_store_n(&state.level, level, __ATOMIC_RELAXED);
	state.json = json;
	state.journal = is_journal();
	pthread_mutex_unlock(&state.lock);
}

bool log_enabled(enum log_level level)
{
	return level <= __atomic_load_n(&state.level, __ATOMIC_RELAXED);
}

static void put(struct line *l, const char *s, size_t n)
{
	if (n > sizeof(l->buf) - l->n)
		n = sizeof(l->buf) - l->n;
	memcpy(l->buf + l->n, s, n);
	l->n += n;
}

static void put_format(struct line *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void put_format(struct line *l, const char *fmt, ...)
{
	char buf[128];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	if (n > 0)
		put(l, buf, (size_t)n < sizeof(buf) ? (size_t)n : sizeof(buf) - 1);
}

/* Bytes of the valid UTF-8 character at s, of n bytes at most; 0 when there is none. */
static size_t utf8_length(const unsigned char *s, size_t n)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = s[0] < 0x80		   ? 1
		     : s[0] >= 0xf0 && s[0] < 0xf8 ? 4
		     : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
		     : s[0] >= 0xc0 && s[0] < 0xe0 ? 2
						   : 0;
	uint32_t c;

	if (len <= 1 || len > n)
		return len <= n ? len : 0;
	c = s[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	return len;
}

/* C0, DEL and C1 can move a cursor or end a line. */
static bool is_control(const unsigned char *s, size_t len)
{
	return s[0] < 0x20 || s[0] == 0x7f || (len == 2 && s[0] == 0xc2 && s[1] < 0xa0);
}

static void put_escaped(struct line *l, const char *text, bool json)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n = strlen(text), len;

	for (; n; s += len, n -= len) {
		len = utf8_length(s, n);
		if (!len) {
			len = 1;
			if (json)
				put(l, "\\ufffd", 6);
			else
				put_format(l, "\\x%02x", s[0]);
		} else if (is_control(s, len)) {
			put_format(l, json ? "\\u%04x" : "\\x%02x", s[len - 1]);
		} else {
			if (json && (s[0] == '"' || s[0] == '\\'))
				put(l, "\\", 1);
			put(l, (const char *)s, len);
		}
	}
}

static void put_time(struct line *l)
{
	struct timespec ts;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	put_format(l, "%04d-%02d-%02dT%02d:%02d:%02d.%06ldZ", tm.tm_year + 1900,
		   tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
		   ts.tv_nsec / 1000);
}

static void write_line(const struct line *l)
{
	size_t done = 0;
	ssize_t n;

	while (done < l->n) {
		n = write(STDERR_FILENO, l->buf + done, l->n - done);
		if (n < 0 && errno != EINTR)
			return;
		if (n > 0)
			done += (size_t)n;
	}
}

/* With state.lock held, so that lines of two threads do not mix. */
static void emit(enum log_level level, const char *message)
{
	static struct line l;

	l.n = 0;
	if (state.json) {
		put(&l, "{\"time\":\"", 9);
		put_time(&l);
		put_format(&l, "\",\"level\":\"%s\",\"message\":\"", levels[level].name);
		put_escaped(&l, message, true);
		put(&l, "\"}\n", 3);
	} else {
		if (state.journal)
			put_format(&l, "<%d>", levels[level].priority);
		put_format(&l, "ringsided: %s",
			   level == LOG_LEVEL_WARN ? "warning: " : "");
		put_escaped(&l, message, false);
		put(&l, "\n", 1);
	}
	write_line(&l);
}

/* The reason behind a message is often in errno, and callers look at it afterwards. */
static void vlog_at(enum log_level level, uint32_t suppressed, const char *fmt,
		    va_list ap)
{
	char message[MESSAGE_MAX];
	int saved = errno;
	size_t n;
	int want;

	want = vsnprintf(message, sizeof(message), fmt, ap);
	if (want < 0)
		snprintf(message, sizeof(message), "message that cannot be formatted: %s",
			 fmt);
	else if ((size_t)want >= sizeof(message))
		memcpy(message + sizeof(message) - 4, "...", 4);
	n = strlen(message);
	if (suppressed)
		snprintf(message + n, sizeof(message) - n,
			 " (%u more like this left out)", suppressed);
	pthread_mutex_lock(&state.lock);
	emit(level, message);
	pthread_mutex_unlock(&state.lock);
	errno = saved;
}

void log_at(enum log_level level, const char *fmt, ...)
{
	va_list ap;

	if (!log_enabled(level))
		return;
	va_start(ap, fmt);
	vlog_at(level, 0, fmt, ap);
	va_end(ap);
}

/* Whether this call site may speak; *suppressed is how often it was not allowed to since
 * it last was. */
static bool limit_pass(struct log_limit *limit, uint32_t *suppressed)
{
	struct timespec ts;
	uint64_t now;
	bool pass;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
	pthread_mutex_lock(&state.lock);
	pass = !limit->last_ns || now - limit->last_ns >= LIMIT_NS;
	*suppressed = limit->suppressed;
	if (pass) {
		limit->last_ns = now;
		limit->suppressed = 0;
	} else {
		limit->suppressed++;
	}
	pthread_mutex_unlock(&state.lock);
	return pass;
}

void log_at_limited(struct log_limit *limit, enum log_level level, const char *fmt, ...)
{
	uint32_t suppressed;
	va_list ap;

	if (!log_enabled(level) || !limit_pass(limit, &suppressed))
		return;
	va_start(ap, fmt);
	vlog_at(level, suppressed, fmt, ap);
	va_end(ap);
}
