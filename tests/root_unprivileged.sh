#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who may read, and what the sidecar keeps: members of the ring's group read everything, others are
# refused in clear words; no network socket; only the capabilities that the man page lists.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"
need setpriv

gid=45117
start_sidecar -F 199 --group $gid
program shares worker
spawn "$copy" 60
sleep 2
member="setpriv --reuid 65534 --regid $gid --clear-groups"
nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
mkdir "$dir/out" && chmod 777 "$dir/out"

claim "a member of the group can use tail, status, list and record"
$member "$ringside" tail --no-follow -o json >"$dir/tail.json" || fail "tail: exit $?"
query "$dir/tail.json" <<'EOF'
check(len(samples(comm="worker")) > 20, "tail shows the worker's samples")
EOF
$member "$ringside" status >"$dir/status" || fail "status: exit $?"
$member "$ringside" list -o json >"$dir/list" || fail "list: exit $?"
grep -q '"worker"' "$dir/list" || fail "list does not show the worker"
$member "$ringside" record -o "$dir/out/r.folded" --duration 1 || fail "record: exit $?"
grep -q burn_seventy "$dir/out/r.folded" || fail "the recording does not hold the worker's functions"

claim "everybody else is refused, with a reason"
for command in "tail --no-follow" status list "record -o $dir/out/n.folded --duration 1"; do
	# shellcheck disable=SC2086
	$nobody "$ringside" $command >"$dir/no.out" 2>"$dir/no.err" </dev/null
	rc=$?
	[ $rc = 1 ] || fail "$command as nobody: exit $rc, not 1"
	grep -q "$ring" "$dir/no.err" || fail "$command as nobody does not name the ring: $(cat "$dir/no.err")"
	grep -qi 'permi' "$dir/no.err" || fail "$command as nobody does not say why: $(cat "$dir/no.err")"
	[ ! -s "$dir/no.out" ] || [ "$command" = status ] || fail "$command as nobody printed something"
done
$nobody sh -c "echo x >>$ring" 2>/dev/null && fail "nobody can write to the ring"
$member sh -c "echo x >>$ring" 2>/dev/null && fail "the group can write to the ring"

claim "no process of the sidecar holds a network socket"
python3 - "$sidecar" $(children "$sidecar") <<'EOF' || fail "a network socket is open"
import glob, os, sys
net = {}
for table in "tcp tcp6 udp udp6 raw raw6 udplite icmp packet netlink".split():
    try:
        for line in open("/proc/net/" + table).read().splitlines()[1:]:
            f = line.split()
            net[f[8] if table == "packet" else f[-1] if table == "netlink" else f[9]] = table
    except (FileNotFoundError, IndexError):
        pass
bad = 0
for pid in sys.argv[1:]:
    for fd in glob.glob("/proc/%s/fd/*" % pid):
        try:
            to = os.readlink(fd)
        except OSError:
            continue
        if to.startswith("socket:[") and to[8:-1] in net:
            print("  pid %s holds a %s socket" % (pid, net[to[8:-1]]))
            bad = 1
sys.exit(bad)
EOF

claim "capabilities are those of the man page, on every thread; children have none"
python3 - "$sidecar" "$src/man/ringsided.8" $(children "$sidecar") <<'EOF' || fail "wrong rights"
import glob, re, sys
NAMES = {2: "DAC_READ_SEARCH", 19: "SYS_PTRACE", 38: "PERFMON", 39: "BPF", 40: "CHECKPOINT_RESTORE"}
KEPT = {2, 19, 38, 40}
bad = []


def field(path, key):
    return re.search(r"^%s:\s*(\S+)" % key, open(path).read(), re.M).group(1)


for task in glob.glob("/proc/%s/task/*/status" % sys.argv[1]):
    for key in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
        caps = {i for i in range(64) if int(field(task, key), 16) >> i & 1}
        extra = caps - KEPT
        if extra and not (extra == {39} and tuple(map(int, re.findall(
                r"\d+", open("/proc/sys/kernel/osrelease").read())[:2])) < (5, 19)):
            bad.append("%s holds %s of capability %s" % (task, key, sorted(extra)))
    if field(task, "NoNewPrivs") != "1" or field(task, "Seccomp") != "2":
        bad.append(task + ": no_new_privs and a seccomp filter")
page = open(sys.argv[2]).read()
for i in KEPT:
    if NAMES[i] not in page:
        bad.append("the man page does not list " + NAMES[i])
if len(sys.argv) < 5:
    bad.append("there is a launcher and a worker")
for pid in sys.argv[3:]:
    path = "/proc/%s/status" % pid
    if int(field(path, "CapEff"), 16) or int(field(path, "CapPrm"), 16):
        bad.append("child %s holds a capability" % pid)
    if field(path, "Seccomp") != "2":
        bad.append("child %s has no seccomp filter" % pid)
for what in bad:
    print("  " + what)
sys.exit(1 if bad else 0)
EOF
"$ringside" status -o json | python3 -c '
import json, sys
caps = set(json.load(sys.stdin)["capabilities"])
want = {"CAP_DAC_READ_SEARCH", "CAP_SYS_PTRACE", "CAP_PERFMON", "CAP_CHECKPOINT_RESTORE"}
sys.exit(not (caps - {"CAP_BPF"} <= want and "CAP_PERFMON" in caps))' || fail "status shows other capabilities"
stop_sidecar
