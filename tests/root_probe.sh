#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --probe tells each right, sysctl and place that is taken away, with its remedy, and starts nothing.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"
need capsh unshare setpriv

kptr=$(cat /proc/sys/kernel/kptr_restrict)
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
on_exit() {
	echo "$kptr" >/proc/sys/kernel/kptr_restrict
	echo "$paranoid" >/proc/sys/kernel/perf_event_paranoid
}

# row NAME OK PATTERN COMMAND...: that row of the probe made by COMMAND is so, its remedy matches.
row() {
	name=$1 ok=$2 pattern=$3
	shift 3
	timeout 20 "$@" >"$dir/probe" 2>"$dir/err" </dev/null
	rc=$?
	[ $rc -le 1 ] || fail "$*: exit $rc: $(head -n 3 "$dir/err")"
	python3 - "$dir/probe" "$name" "$ok" "$pattern" <<'PYTHON' || fail "$name is not so: $*"
import json, re, sys
rows = {r["name"]: r for r in json.load(open(sys.argv[1]))}
r = rows[sys.argv[2]]
for key in ("need", "effect"):
    assert r[key], r
assert r["ok"] == (sys.argv[3] == "ok"), r
assert r["ok"] == (r["remedy"] == ""), r
assert re.search(sys.argv[4], r["remedy"]), r
PYTHON
}
probe="$ringsided --probe -o json --ring $ring"
# without CAPS: probe without these capabilities.
without() { echo "capsh --drop=$1 -- -c"; }

claim "as root, what is needed to start is there"
for name in kernel bpf bpf_ring_buffer perf_event btf tp_btf; do
	row $name ok '' $probe
done
row ring_tmpfs ok '' $probe
row cap_sys_ptrace ok '' $probe
[ ! -e "$ring" ] || fail "the probe left a ring"

claim "each capability that is taken away is named"
for cap in bpf perfmon; do
	row cap_$cap missing '(?i)'$cap $(without cap_$cap,cap_sys_admin) "exec $probe"
	row bpf missing 'BPF, PERFMON' $(without cap_$cap,cap_sys_admin) "exec $probe"
done
for cap in sys_ptrace dac_read_search checkpoint_restore syslog chown setuid setgid; do
	row cap_$cap missing "(?i)$cap" $(without cap_$cap) "exec $probe"
done
row bpf missing 'BPF, PERFMON' setpriv --reuid 65534 --regid 65534 --clear-groups $probe
row process_environment missing SYS_PTRACE setpriv --reuid 65534 --regid 65534 --clear-groups $probe
row cap_bpf missing 'add: \[BPF\]' env KUBERNETES_SERVICE_HOST=x setpriv --reuid 65534 --regid 65534 --clear-groups $probe

claim "sysctls"
if echo 2 >/proc/sys/kernel/kptr_restrict 2>/dev/null; then
	row kallsyms missing 'kptr_restrict=1' $probe
	echo "$kptr" >/proc/sys/kernel/kptr_restrict
fi
if echo 3 >/proc/sys/kernel/perf_event_paranoid 2>/dev/null; then
	row perf_event_paranoid missing 'perf_event_paranoid=2' $(without cap_sys_admin) "exec $probe"
	row cpu_hotplug missing 'perf_event_paranoid=2' $probe
	row perf_event ok '' $probe
	echo "$paranoid" >/proc/sys/kernel/perf_event_paranoid
fi

claim "places"
row ring_tmpfs missing '/dev/shm' "$ringsided" --probe -o json --ring "$dir/ring"
row ring_room missing 'remount,size=' "$ringsided" --probe -o json --ring "$shm/ring" --ring-size 64G
if unshare --pid --fork --mount-proc true 2>/dev/null; then
	row pid_namespace missing 'shareProcessNamespace: true' unshare --pid --fork --mount-proc $probe
fi
if unshare -T true 2>/dev/null; then
	row time_namespace ok '' unshare -T --boottime 1000 $probe
fi

claim "io_uring behind a filter that denies it"
if [ -x "$programs/work_deny_uring" ]; then
	row io_uring missing '.' "$programs/work_deny_uring" $probe
fi

claim "text names the same rows"
$probe >"$dir/json" && "$ringsided" --probe --ring "$ring" >"$dir/text" || fail "--probe: exit $?"
[ "$(grep -c '^ok \|^no \|^MISSING ' "$dir/text")" = "$(grep -c '"name"' "$dir/json")" ] || fail "rows differ"
