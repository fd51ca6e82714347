/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "sidecar/privilege.h"
#include "sidecar/probe.h"

#ifndef CAP_CHECKPOINT_RESTORE
#error "libcap is too old: it does not know CAP_CHECKPOINT_RESTORE"
#endif

static const cap_value_t kept[] = { CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH,
				    CAP_CHECKPOINT_RESTORE };
#define N_KEPT (sizeof(kept) / sizeof(kept[0]))

/* Where everybody may call bpf(), a call without rights that works tells nothing of the
 * day it is closed. */
static bool bpf_is_for_everybody(void)
{
	FILE *f = fopen("/proc/sys/kernel/unprivileged_bpf_disabled", "re");
	int v = 1;

	if (!f)
		return false;
	if (fscanf(f, "%d", &v) != 1)
		v = 1;
	fclose(f);
	return v == 0;
}

/* A lookup in map with the effective set of this thread as it is without BPF and
 * SYS_ADMIN. */
static bool lookup_fails_without_bpf(int map)
{
	static const cap_value_t both[] = { CAP_BPF, CAP_SYS_ADMIN };
	cap_t now = cap_get_proc(), less = cap_get_proc();
	uint32_t key = 0;
	uint64_t value;
	bool fails = true;

	if (now && less && !cap_set_flag(less, CAP_EFFECTIVE, 2, both, CAP_CLEAR) &&
	    !cap_set_proc(less)) {
		fails = bpf_map_lookup_elem(map, &key, &value) < 0;
		cap_set_proc(now);
	}
	cap_free(now);
	cap_free(less);
	return fails;
}

bool privilege_maps_need_bpf(void)
{
	bool need;
	int map;

	if (bpf_is_for_everybody())
		return probe_kernel_before(5, 19);
	map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rs_probe", sizeof(uint32_t),
			     sizeof(uint64_t), 1, NULL);
	if (map < 0)
		return false;	/* no right to begin with: nothing to keep */
	need = lookup_fails_without_bpf(map);
	close(map);
	return need;
}

static int keep_if_held(cap_t from, cap_t to, cap_value_t cap)
{
	cap_flag_value_t held;

	if (cap_get_flag(from, cap, CAP_PERMITTED, &held))
		return -errno;
	if (held == CAP_CLEAR)
		return 0;
	if (cap_set_flag(to, CAP_PERMITTED, 1, &cap, CAP_SET) ||
	    cap_set_flag(to, CAP_EFFECTIVE, 1, &cap, CAP_SET))
		return -errno;
	return 0;
}

static int reduce_sets(bool keep_bpf)
{
	cap_t now = cap_get_proc(), then = cap_init(), check = NULL;
	int err = -ENOMEM;

	if (!now || !then)
		goto out;
	err = keep_bpf ? keep_if_held(now, then, CAP_BPF) : 0;
	for (size_t i = 0; i < N_KEPT && !err; i++)
		err = keep_if_held(now, then, kept[i]);
	if (err)
		goto out;
	if (cap_set_proc(then)) {
		err = -errno;
		goto out;
	}
	check = cap_get_proc();
	if (!check || cap_compare(check, then))
		err = -EPERM;
out:
	cap_free(now);
	cap_free(then);
	cap_free(check);
	return err;
}

/* Without CAP_SETPCAP this cannot be had; no_new_privs makes it a second lock on the same
 * door. */
static void empty_bounding_set(void)
{
	for (cap_value_t cap = 0; CAP_IS_SUPPORTED(cap); cap++)
		cap_drop_bound(cap);
}

int privilege_drop(void)
{
	bool keep_bpf = privilege_maps_need_bpf();
	int err;

	empty_bounding_set();
	if (cap_reset_ambient() && errno != EINVAL)
		return -errno;
	err = reduce_sets(keep_bpf);
	if (err)
		return err;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}

static char *upper_name(cap_value_t cap)
{
	char *from = cap_to_name(cap), *name = from ? strdup(from) : NULL;

	cap_free(from);
	for (char *p = name; p && *p; p++)
		*p = (char)toupper((unsigned char)*p);
	return name;
}

/* The names stand behind the pointers in one block, so that one free() does. */
static int pack(char **list, uint32_t n, char ***out)
{
	size_t bytes = n * sizeof(char *);
	char **block, *p;

	for (uint32_t i = 0; i < n; i++)
		bytes += strlen(list[i]) + 1;
	block = malloc(bytes ? bytes : 1);
	if (!block)
		return -ENOMEM;
	p = (char *)(block + n);
	for (uint32_t i = 0; i < n; i++) {
		block[i] = p;
		p = stpcpy(p, list[i]) + 1;
	}
	*out = block;
	return 0;
}

int privilege_list(char ***names, uint32_t *n)
{
	char *list[64];
	cap_flag_value_t held;
	cap_t now = cap_get_proc();
	uint32_t k = 0;
	int err = 0;

	if (!now)
		return -errno;
	for (cap_value_t cap = 0; cap < 64 && CAP_IS_SUPPORTED(cap) && !err; cap++) {
		if (cap_get_flag(now, cap, CAP_EFFECTIVE, &held) || held == CAP_CLEAR)
			continue;
		list[k] = upper_name(cap);
		if (list[k])
			k++;
		else
			err = -ENOMEM;
	}
	if (!err)
		err = pack(list, k, names);
	*n = err ? 0 : k;
	while (k)
		free(list[--k]);
	cap_free(now);
	return err;
}
