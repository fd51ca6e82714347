/* SPDX-License-Identifier: Apache-2.0 */
/* Where it stands: the ring's folder, namespaces, hierarchies, what it may read of
 * others. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "sidecar/probe.h"

#define PIDNS_INITIAL 0xeffffffcul	/* PROC_PID_INIT_INO: inode of the initial pid namespace */
#define PROCESSES_TRIED 64
#define TIMENS_INITIAL 0xeffffffaul	/* PROC_TIME_INIT_INO */

/* The file system that the ring's folder is on, or will be on when it is made. */
static bool folder_of(const char *ring, char folder[PATH_MAX], struct statfs *fs)
{
	char copy[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", ring);
	snprintf(folder, PATH_MAX, "%s", dirname(copy));
	while (statfs(folder, fs)) {
		if (!strcmp(folder, "/") || !strcmp(folder, "."))
			return false;
		snprintf(copy, sizeof(copy), "%s", folder);
		snprintf(folder, PATH_MAX, "%s", dirname(copy));
	}
	return true;
}

static void ring_place(struct probe *p, const struct config *c)
{
	char folder[PATH_MAX];
	struct statfs fs;
	bool known = folder_of(c->ring, folder, &fs);
	uint64_t want = c->ring_size + c->dict_size, room;
	struct stat st;
	struct probe_fact f = {
		.name = "ring_tmpfs",
		.ok = known && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC),
		.need = "the ring's folder on a tmpfs",
		.effect = "the disk can stall the writer for milliseconds",
	};

	probe_row(p, &f, "%s",
		  getenv("KUBERNETES_SERVICE_HOST")
			  ? "emptyDir: {medium: Memory}"
			  : "ringsided --ring /dev/shm/ringside/ring");
	/* A ring that stands there already has its room. */
	room = known ? (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize : 0;
	if (!stat(c->ring, &st))
		room += (uint64_t)st.st_blocks * 512;
	f = (struct probe_fact){
		.name = "ring_room",
		.ok = known &&
		      (room > want || (fs.f_type == TMPFS_MAGIC && !fs.f_blocks)),
		.required = true,
		.need = "room for ring and dictionary",
		.effect = "the ring cannot be created",
	};
	probe_row(p, &f, "mount -o remount,size=%lluM %.200s",
		  (unsigned long long)(want * 2 / 1048576 + 1), known ? folder : c->ring);
}

static int count_processes(int cap)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int n = 0;

	if (!d)
		return 0;
	while (n < cap && (e = readdir(d)))
		n += e->d_name[0] >= '1' && e->d_name[0] <= '9';
	closedir(d);
	return n;
}

/* Alone in a pid namespace of its own, or with one parent: what a pod without a shared
 * one looks like. */
static void pid_namespace(struct probe *p)
{
	struct stat st = { 0 };
	bool initial = !stat("/proc/self/ns/pid", &st) && st.st_ino == PIDNS_INITIAL;
	const struct probe_fact f = {
		.name = "pid_namespace",
		.ok = initial || count_processes(3) > 2,
		.need = "the host's pid namespace, or one shared with what is to be sampled",
		.effect = "only ringsided itself is in scope",
	};

	probe_row(p, &f, "shareProcessNamespace: true");
}

static bool known_timens(void)
{
	struct stat mine, children;

	if (stat("/proc/self/ns/time", &mine) || mine.st_ino == TIMENS_INITIAL)
		return true;
	return !stat("/proc/self/ns/time_for_children", &children) &&
	       children.st_ino == mine.st_ino &&
	       !access("/proc/self/timens_offsets", R_OK);
}

static void time_namespace(struct probe *p)
{
	const struct probe_fact f = {
		.name = "time_namespace", .ok = known_timens(), .required = true,
		.need = "the offset of the own time namespace",
		.effect = "wall time cannot be told from the kernel's stamps",
	};

	probe_row(p, &f, "unshare -T --fork ringsided");
}

static void cgroups(struct probe *p)
{
	struct statfs fs;
	const struct probe_fact f = {
		.name = "cgroup_v2",
		.ok = (!statfs("/sys/fs/cgroup", &fs) &&
		       fs.f_type == CGROUP2_SUPER_MAGIC) ||
		      (!statfs("/sys/fs/cgroup/unified", &fs) &&
		       fs.f_type == CGROUP2_SUPER_MAGIC),
		.need = "the v2 hierarchy at /sys/fs/cgroup",
		.effect =
			"no scope cgroup:, and a process that changes its container is noticed late",
	};

	probe_row(p, &f, "boot with systemd.unified_cgroup_hierarchy=1");
}

/* The first file that process 1, or whoever is not ours, has mapped. */
static bool opens_map_file(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int fd = -1;

	if (!d)
		return false;
	for (int tries = 0; tries < 8 && fd < 0 && (e = readdir(d)); tries++)
		if (strchr(e->d_name, '-'))
			fd = openat(dirfd(d), e->d_name,
				    O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	closedir(d);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* 1: has bytes for us, 0: has none (a kernel thread, gone), -1: denied. */
static int try_read(int proc, const char *pid, const char *file)
{
	char path[64], byte;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%.16s/%.32s", pid, file);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == EACCES || errno == EPERM ? -1 : 0;
	n = read(fd, &byte, 1);
	close(fd);
	return n < 0 ? -1 : n > 0;
}

/*
 * Whether that file of others can be read: of other users' processes when there are some,
 * else of any. One in four may refuse, since a process may guard itself (and a machine
 * its pid 1).
 */
static bool reads_of_others(const char *file)
{
	unsigned int got[2] = { 0 }, denied[2] = { 0 };	/* of our user, of others */
	DIR *d = opendir("/proc");
	struct dirent *e;
	struct stat st;
	int r, other;

	while (d && (e = readdir(d)) &&
	       got[0] + got[1] + denied[0] + denied[1] < PROCESSES_TRIED) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9' ||
		    fstatat(dirfd(d), e->d_name, &st, 0) ||
		    strtol(e->d_name, NULL, 10) == getpid())
			continue;
		other = st.st_uid != geteuid();
		r = try_read(dirfd(d), e->d_name, file);
		got[other] += r > 0;
		denied[other] += r < 0;
	}
	if (d)
		closedir(d);
	other = got[1] + denied[1] > 0;
	return denied[other] * 4 <= got[other] + denied[other];
}

static void others(struct probe *p)
{
	char grant[PROBE_GRANT_MAX];
	struct probe_fact f = {
		.name = "process_maps",
		.ok = reads_of_others("maps"),
		.need = "reading the mappings of others",
		.effect = "frames of other users' processes stay addresses",
	};

	probe_row(p, &f, "%s", probe_grant("SYS_PTRACE", grant));
	f = (struct probe_fact){
		.name = "process_environment",
		.ok = reads_of_others("environ"),
		.need = "reading the environment of others",
		.effect = "no OTEL_* names from the environment",
	};
	probe_row(p, &f, "%s", probe_grant("SYS_PTRACE, DAC_READ_SEARCH", grant));
	f = (struct probe_fact){
		.name = "map_files",
		.ok = opens_map_file("/proc/self/map_files"),
		.need = "opening files in /proc/PID/map_files",
		.effect =
			"files are opened by path only: deleted or replaced ones stay unnamed",
	};
	probe_row(p, &f, "%s", probe_grant("CHECKPOINT_RESTORE", grant));
}

void probe_place(struct probe *p, const struct config *c)
{
	ring_place(p, c);
	pid_namespace(p);
	time_namespace(p);
	cgroups(p);
	others(p);
}
