/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_maker RING WORD...: a writer for the client's tests.  Words are done in order:
 *   pid=N         later samples are of this process (tid = pid + 1)
 *   nostart       later records do not know when processes started
 *   service=NAME  with this service.name
 *   samples=N     writes N samples: burn < work < main, 10 ms apart
 *   kernel=N      the same below two kernel frames
 *   hostile       a sample and a process whose names hold what a terminal must not see
 *   fork=N        a process record: the current pid forked N
 *   exit          a process record: the current pid ended
 *   lost=N clock status   one record of loss, a clock step of -1 h, the status page
 *   age=SECONDS   later records are so old
 *   say=TEXT      on stdout, once all before is visible
 *   wait=MS       sleeps, with a heartbeat
 *   every=MS,N    N samples, one each MS
 *   abandon       ends without closing, as after kill -9
 * At the end the ring is closed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shm/ring_writer.h"

#define HOSTILE "evil\033[31m\n\xff\xc2\x9b;\xe2\x80\xae\"\\x"

static struct ring_writer *w;
static uint32_t pid = 77;
static char service[64] = "shop";
static int64_t age_ns;
static bool no_start;
static uint64_t written;

static int64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static void must(int err, const char *what)
{
	if (err < 0) {
		fprintf(stderr, "ring_maker: %s: %s\n", what, strerror(-err));
		exit(1);
	}
}

static struct ring_stamp stamp(void)
{
	return (struct ring_stamp){ .wall_ns = clock_ns(CLOCK_REALTIME) - age_ns,
				    .boot_ns =
					    (uint64_t)(clock_ns(CLOCK_BOOTTIME) - age_ns),
				    .clock_epoch = 1,
				    .clock_error_ns = 120 };
}

static ringside_ref string(const char *s)
{
	ringside_ref ref;

	must(ring_intern_string(w, s, strlen(s), &ref), "string");
	return ref;
}

static ringside_ref mapping(const char *path, const char *build_id)
{
	struct ring_mapping m = { .path = string(path),
				  .start = 0x400000,
				  .end = 0x500000 };
	ringside_ref ref;

	if (build_id) {
		m.build_id = string(build_id);
		m.build_id_kind = RINGSIDE_BUILD_ID_GNU;
	}
	must(ring_intern_mapping(w, &m, &ref), "mapping");
	return ref;
}

static ringside_ref frame(uint8_t type, const char *function, uint64_t address,
			  ringside_ref in)
{
	struct ring_frame f = {
		.type = type, .address = address, .offset = 0x10, .mapping = in
	};
	ringside_ref ref;

	if (function)
		f.function = string(function);
	must(ring_intern_frame(w, &f, &ref), "frame");
	return ref;
}

static ringside_ref resource(const char *name)
{
	struct ring_attribute a[] = {
		{ .key = string("service.name"),
		  .type = RINGSIDE_STRING,
		  .string = string(name) },
		{ .key = string("process.pid"), .type = RINGSIDE_INT, .number = pid },
		{ .key = string("process.executable.path"),
		  .type = RINGSIDE_STRING,
		  .string = string("/usr/bin/worker") },
		{ .key = string("container.id"),
		  .type = RINGSIDE_STRING,
		  .string = string(
			  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef") },
	};
	ringside_ref ref;

	must(ring_intern_resource(
		     w, a, 4, string("https://opentelemetry.io/schemas/1.37.0"), &ref),
	     "resource");
	return ref;
}

static ringside_ref user_stack(const char *leaf)
{
	ringside_ref exe = mapping("/usr/bin/worker", "abcdef0123456789");
	ringside_ref frames[] = {
		frame(RINGSIDE_FRAME_NATIVE, leaf, 0x1149, exe),
		frame(RINGSIDE_FRAME_NATIVE, "work", 0x1200, exe),
		frame(RINGSIDE_FRAME_NATIVE, "main", 0x1300, exe),
		frame(RINGSIDE_FRAME_NATIVE, NULL, 0x27000,
		      mapping("/lib/libc.so.6", NULL)),
	};
	ringside_ref ref;

	must(ring_intern_stack(w, frames, 4, &ref), "stack");
	return ref;
}

static ringside_ref kernel_stack(void)
{
	ringside_ref kernel = mapping("[kernel.kallsyms]", NULL);
	ringside_ref frames[] = {
		frame(RINGSIDE_FRAME_KERNEL, "vfs_read", 0xffffffff81000010, kernel),
		frame(RINGSIDE_FRAME_KERNEL, "do_syscall_64", 0xffffffff81000100, kernel),
	};
	ringside_ref ref;

	must(ring_intern_stack(w, frames, 2, &ref), "stack");
	return ref;
}

static uint64_t start_of(uint32_t of)
{
	return no_start ? 0 : 1000000 + of;
}

static void sample(const char *comm, const char *name, const char *leaf, bool in_kernel)
{
	struct ring_sample s = {
		.pid = pid, .tid = pid + 1, .cpu = 1, .process_start_ns = start_of(pid),
		.event = RINGSIDE_EVENT_CPU, .unit = RINGSIDE_UNIT_NANOSECONDS,
		.user_end = RINGSIDE_END_COMPLETE, .weight = 10000000,
	};

	ring_writer_open_block(w, NULL);
	s.stamp = stamp();
	memcpy(s.comm, comm, strnlen(comm, sizeof(s.comm)));
	s.resource = resource(name);
	s.user_stack = user_stack(leaf);
	if (in_kernel) {
		s.kernel_stack = kernel_stack();
		s.kernel_end = RINGSIDE_END_COMPLETE;
	}
	must(ring_put_sample(w, &s), "sample");
	written++;
}

static void process(uint32_t of, uint32_t parent, uint8_t action, const char *comm,
		    const char *command)
{
	struct ring_process p = { .pid = of,
				  .parent_pid = parent,
				  .process_start_ns = start_of(of),
				  .action = action,
				  .command = command,
				  .exit_code = 3 };

	ring_writer_open_block(w, NULL);
	p.stamp = stamp();
	memcpy(p.comm, comm, strnlen(comm, sizeof(p.comm)));
	must(ring_put_process(w, &p), "process");
	written++;
}

static void samples(uint64_t n, bool in_kernel)
{
	for (uint64_t i = 0; i < n; i++)
		sample("worker", service, "burn", in_kernel);
}

static void lost(uint64_t n)
{
	struct ring_stamp at = stamp();

	ring_writer_open_block(w, NULL);
	must(ring_put_lost(w, &at, RINGSIDE_LOST_KERNEL_RING_FULL, n), "lost");
	ring_writer_lost_total(w, RINGSIDE_LOST_KERNEL_RING_FULL, n);
}

static void clock_step(void)
{
	struct ringside_clock c = { .offset_ns = 42, .step_ns = INT64_C(-3600000000000),
				    .source = RINGSIDE_CLOCK_PAIRED };
	struct ring_stamp at = stamp();

	at.clock_epoch = 2;
	ring_writer_open_block(w, NULL);
	must(ring_put_clock(w, &at, &c), "clock");
}

static void status(void)
{
	ring_status_begin(w);
	ring_status_number(w, RINGSIDE_N_FREQUENCY_HZ, 100);
	ring_status_number(w, RINGSIDE_N_RECORDS, written);
	ring_status_number(w, RINGSIDE_N_SAMPLES, written);
	ring_status_number(w, RINGSIDE_N_CLOCK_SOURCE, RINGSIDE_CLOCK_PAIRED);
	ring_status_number(w, RINGSIDE_N_LOST + RINGSIDE_LOST_KERNEL_RING_FULL, 5);
	ring_status_number(w, RINGSIDE_N_STACK_END + RINGSIDE_END_COMPLETE, written);
	ring_status_text(w, RINGSIDE_T_SCOPE, "host");
	ring_status_text(w, RINGSIDE_T_IO_BACKEND, "plain");
	ring_status_text(w, RINGSIDE_T_VERSION, "0.1.0");
	ring_status_text(w, RINGSIDE_T_CAPABILITY, "cap_perfmon");
	ring_status_text(w, RINGSIDE_T_WARNING, "not on tmpfs: \033[31m");
	ring_status_text(w, RINGSIDE_T_PROBE,
			 "perf_event\0370\037CAP_PERFMON\037no samples\037run as root");
	ring_status_end(w);
}

static void pause_ms(uint64_t ms)
{
	struct timespec ts = { .tv_nsec = 10000000 };

	ring_writer_publish(w);
	for (uint64_t done = 0; done < ms; done += 10) {
		ring_writer_heartbeat(w, (uint64_t)clock_ns(CLOCK_BOOTTIME));
		nanosleep(&ts, NULL);
	}
}

static void do_word(const char *word)
{
	const char *eq = strchr(word, '='), *arg = eq ? eq + 1 : "";
	size_t len = eq ? (size_t)(eq - word) : strlen(word);
	char *comma;
	uint64_t n = strtoull(arg, &comma, 10);

#define IS(name) (len == strlen(name) && !memcmp(word, name, len))
	if (IS("pid")) {
		pid = (uint32_t)n;
	} else if (IS("nostart")) {
		no_start = true;
	} else if (IS("service")) {
		snprintf(service, sizeof(service), "%s", arg);
	} else if (IS("samples") || IS("kernel")) {
		samples(n, IS("kernel"));
	} else if (IS("hostile")) {
		sample("a\033[2J\nb\xff", HOSTILE, HOSTILE, false);
		process(pid, 1, RINGSIDE_EXEC, "x) R 1 (y", HOSTILE);
	} else if (IS("fork")) {
		process((uint32_t)n, pid, RINGSIDE_FORK, "worker", NULL);
	} else if (IS("exit")) {
		process(pid, 1, RINGSIDE_EXIT, "worker", NULL);
	} else if (IS("lost")) {
		lost(n);
	} else if (IS("clock")) {
		clock_step();
	} else if (IS("status")) {
		status();
	} else if (IS("age")) {
		age_ns = (int64_t)n * 1000000000;
	} else if (IS("say")) {
		ring_writer_publish(w);
		printf("%s\n", arg);
		fflush(stdout);
	} else if (IS("wait")) {
		pause_ms(n);
	} else if (IS("every")) {
		for (uint64_t i = strtoull(*comma ? comma + 1 : "0", NULL, 10); i; i--) {
			samples(1, false);
			pause_ms(n);
		}
	} else if (IS("abandon")) {
		ring_writer_publish(w);
		_exit(0);
	} else {
		must(-EINVAL, word);
	}
#undef IS
}

int main(int argc, char **argv)
{
	struct ring_writer_options o = { .ring_bytes = 1 << 20,
					 .dict_bytes = 1 << 20,
					 .mode = 0640 };
	struct ring_anchor anchor = { .clock_epoch = 1, .source = RINGSIDE_CLOCK_PAIRED,
				      .bound_ns = 120 };
	int err;

	if (argc < 2)
		return 2;
	o.path = argv[1];
	o.group = getegid();
	err = ring_writer_create(&w, &o);
	if (err) {
		fprintf(stderr, "ring_maker: %s\n", ring_writer_error());
		return 1;
	}
	anchor.real_ns = clock_ns(CLOCK_REALTIME);
	anchor.boot_ns = (uint64_t)clock_ns(CLOCK_BOOTTIME);
	anchor.offset_ns = anchor.real_ns - (int64_t)anchor.boot_ns;
	anchor.taken_boot_ns = anchor.boot_ns;
	ring_writer_anchor(w, &anchor);
	for (int i = 2; i < argc; i++)
		do_word(argv[i]);
	ring_writer_publish(w);
	ring_writer_close(w, true);
	return 0;
}
