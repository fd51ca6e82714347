/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peers [BPF-OBJECT [LTTNG-SCRIPT]]: what one record costs its writer, through the ring and
 * through what one would take instead; each round of a peer stands between two of the ring.
 * CPU time of the writing thread; another thread takes the records out where the peer needs
 * it.  A peer that this machine has not is skipped, with its name.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/figure.h"
#include "shm/writer_state.h"

#define RING_BYTES	(16u << 20)
#define BATCH		64u
#define RAW_TYPE	77
#define PIPE_BYTES	(1 << 20)

static char dir[64], path[96];
static struct ring_writer *w;
static char payload[4096];
static uint32_t len;

/* --- ours --------------------------------------------------------------------------- */

static double round_ring(unsigned int n)
{
	uint64_t start = cpu_ns();

	for (unsigned int i = 0; i < n; i++) {
		if (ring_put(w, RAW_TYPE, 0, payload, len, NULL))
			errx(1, "put");
		if (i % BATCH == BATCH - 1)
			ring_writer_publish(w);
	}
	return (double)(cpu_ns() - start) / n;
}

/* --- through a descriptor ----------------------------------------------------------- */

struct channel {
	const char *name;
	int to, from;
	mqd_t queue;
	bool is_queue, is_socket;
	double goal;			/* at 1 KiB, times the ring; 64 bytes: no goal */
};

static void *take(void *arg)
{
	const struct channel *c = arg;
	char buf[65536];
	ssize_t n;

	/* An empty message is the end; a pipe ends when it is closed. */
	do
		n = c->is_queue ? mq_receive(c->queue, buf, sizeof(buf), NULL)
				: read(c->from, buf, sizeof(buf));
	while (n > 0);
	return NULL;
}

static int send_one(const struct channel *c, size_t bytes)
{
	if (c->is_queue)
		return mq_send(c->queue, payload, bytes, 0);
	return write(c->to, payload, bytes) == (ssize_t)bytes ? 0 : -1;
}

static double round_channel(const struct channel *c, unsigned int n)
{
	uint64_t start = cpu_ns();

	for (unsigned int i = 0; i < n; i++)
		if (send_one(c, len))
			err(1, "%s", c->name);
	return (double)(cpu_ns() - start) / n;
}

static bool open_socket(struct channel *c, int type)
{
	int fds[2], bytes = PIPE_BYTES;

	if (socketpair(AF_UNIX, type, 0, fds))
		return false;
	setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	c->to = fds[0];
	c->from = fds[1];
	return c->is_socket = true;
}

static bool open_pipe(struct channel *c)
{
	int fds[2];

	if (pipe(fds))
		return false;
	fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES);
	c->from = fds[0];
	c->to = fds[1];
	return true;
}

static bool open_queue(struct channel *c)
{
	struct mq_attr a = { .mq_maxmsg = 10, .mq_msgsize = 4096 };
	char name[32];

	snprintf(name, sizeof(name), "/bench-peers-%ld", (long)getpid());
	c->queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &a);
	if (c->queue == (mqd_t)-1)
		return false;
	mq_unlink(name);
	return c->is_queue = true;
}

static void verdict(const char *name, double ratio, double goal, double ours,
		    double theirs)
{
	char what[64], text[80];

	snprintf(what, sizeof(what), "%u bytes, %s against the ring", len, name);
	snprintf(text, sizeof(text), "%.1f ns against %.1f", theirs, ours);
	if (goal > 0)
		figure(what, ratio, "x", false, goal, text);
	else
		printf("%-44s %8.2f %-7s           %s\n", what, ratio, "x", text);
}

static void close_channel(struct channel *c, pthread_t reader)
{
	if (c->is_queue)
		mq_send(c->queue, payload, 0, 0);
	else if (c->is_socket)
		send(c->to, payload, 0, 0);
	else
		close(c->to);
	pthread_join(reader, NULL);
	if (c->is_queue) {
		mq_close(c->queue);
		return;
	}
	close(c->from);
	if (c->is_socket)
		close(c->to);
}

static void compare_channel(struct channel *c, unsigned int n)
{
	double ours[ROUNDS_MAX], theirs[ROUNDS_MAX], q[ROUNDS_MAX];
	pthread_t t;

	if (pthread_create(&t, NULL, take, c))
		errx(1, "thread");
	round_channel(c, n);
	for (unsigned int i = 0; i < rounds; i++) {
		ours[i] = round_ring(16384);
		theirs[i] = round_channel(c, n);
		q[i] = theirs[i] / ours[i];
	}
	close_channel(c, t);
	verdict(c->name, median(q, rounds), len == 1024 ? c->goal : 0, median(ours, rounds),
		median(theirs, rounds));
}

static void channels(void)
{
	for (int k = 0; k < 4; k++) {
		struct channel c = { .to = -1, .from = -1, .goal = 90 };
		bool opened;

		switch (k) {
		case 0:
			c.name = "a pipe of 1 MiB";
			opened = open_pipe(&c);
			break;
		case 1:
			c.name = "a unix datagram socket";
			opened = open_socket(&c, SOCK_DGRAM);
			break;
		case 2:
			c.name = "a unix seqpacket socket";
			opened = open_socket(&c, SOCK_SEQPACKET);
			break;
		default:
			c.name = "a POSIX message queue";
			opened = open_queue(&c);
		}
		if (opened)
			compare_channel(&c, 2000);
		else
			skip(c.name, strerror(errno));
	}
}

/* --- the kernel's ring buffer ------------------------------------------------------- */

struct order {
	uint32_t len, n;
};

static int drop(void *ctx, void *data, size_t size)
{
	(void)ctx;
	(void)data;
	(void)size;
	return 0;
}

static double round_bpf(int prog, struct ring_buffer *rb, uint32_t n)
{
	struct order o = { .len = len, .n = n };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &o, .ctx_size_in = sizeof(o));
	uint64_t start = cpu_ns();
	int failed = bpf_prog_test_run_opts(prog, &opts);
	double ns = (double)(cpu_ns() - start) / n;

	ring_buffer__consume(rb);
	return failed || opts.retval ? -1 : ns;
}

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static void compare_bpf(const char *object)
{
	double ours[ROUNDS_MAX], theirs[ROUNDS_MAX], q[ROUNDS_MAX];
	struct bpf_object *obj;
	struct ring_buffer *rb = NULL;
	struct bpf_program *prog;
	int fd;

	libbpf_set_print(quiet);
	obj = bpf_object__open_file(object, NULL);
	prog = obj ? bpf_object__find_program_by_name(obj, "fill") : NULL;
	if (!prog || bpf_object__load(obj)) {
		skip("BPF ring buffer", "not loaded: needs root and Linux 5.17");
		bpf_object__close(obj);
		return;
	}
	fd = bpf_program__fd(prog);
	rb = ring_buffer__new(bpf_object__find_map_fd_by_name(obj, "records"), drop, NULL,
			      NULL);
	if (!rb)
		errx(1, "ring_buffer__new");
	for (unsigned int i = 0; i < rounds; i++) {
		ours[i] = round_ring(16384);
		theirs[i] = round_bpf(fd, rb, 16384);
		if (theirs[i] < 0)
			errx(1, "the program ended early");
		q[i] = theirs[i] / ours[i];
	}
	verdict("BPF ring buffer", median(q, rounds), 0, median(ours, rounds),
		median(theirs, rounds));
	ring_buffer__free(rb);
	bpf_object__close(obj);
}

/* --- LTTng-UST ---------------------------------------------------------------------- */

/* The script prints ns per record, for this length, or why not. */
static void compare_lttng(const char *script, double goal)
{
	char command[512], text[200] = "";
	double ours[ROUNDS_MAX], theirs;
	FILE *f;

	snprintf(command, sizeof(command), "%s %u", script, len);
	for (unsigned int i = 0; i < rounds / 2; i++)
		ours[i] = round_ring(16384);
	f = popen(command, "r");
	if (f && !fgets(text, sizeof(text), f))
		snprintf(text, sizeof(text), "it printed nothing");
	if (f)
		pclose(f);
	for (unsigned int i = rounds / 2; i < rounds; i++)
		ours[i] = round_ring(16384);
	text[strcspn(text, "\n")] = 0;
	theirs = strtod(text, NULL);
	if (theirs > 0)
		verdict("LTTng-UST", theirs / median(ours, rounds), goal,
			median(ours, rounds), theirs);
	else
		skip("LTTng-UST", text);
}

/* --- frame -------------------------------------------------------------------------- */

static void make(void)
{
	struct ring_writer_options o = { .path = path, .group = (gid_t)-1,
					 .ring_bytes = RING_BYTES, .dict_bytes = 1 << 20 };

	snprintf(dir, sizeof(dir), "/dev/shm/bench-peers-XXXXXX");
	if (!mkdtemp(dir))
		err(1, "%s", dir);
	snprintf(path, sizeof(path), "%s/ring", dir);
	if (ring_writer_create(&w, &o))
		errx(1, "%s", ring_writer_error());
	memset(payload, 'x', sizeof(payload));
	len = 1024;			/* once round, so that every page is ours */
	round_ring(2 * RING_BYTES / len);
}

static void unmake(void)
{
	char name[112];

	ring_writer_close(w, true);
	unlink(path);
	snprintf(name, sizeof(name), "%s.lock", path);
	unlink(name);
	rmdir(dir);
}

int main(int argc, char **argv)
{
	static const uint32_t lengths[] = { 64, 1024 };
	static const double lttng_goal[] = { 10, 4 };

	setvbuf(stdout, NULL, _IOLBF, 0);
	rounds = 15;
	make();
	for (int i = 0; i < 2; i++) {
		len = lengths[i];
		channels();
		if (argc > 1)
			compare_bpf(argv[1]);
		if (argc > 2)
			compare_lttng(argv[2], lttng_goal[i]);
	}
	skip("Aeron", "not in Debian");
	unmake();
	return missed;
}
