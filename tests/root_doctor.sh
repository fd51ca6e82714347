#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ringside doctor on a live writer, on a private one, and without rights; ringside record of a command
# and of what it forks, whatever else the machine does, and in another pid namespace.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"
need setpriv unshare

all_ok() {
	python3 - "$1" "$2" <<'EOF' || fail "$3: $(cat "$1")"
import json, sys
d = json.load(open(sys.argv[1]))
assert d["ok"] is True and d["private"] is (sys.argv[2] == "private"), d
names = [c["name"] for c in d["checks"]]
assert names == ["sampled", "pid", "function", "executable", "wall clock"], names
assert all(c["ok"] for c in d["checks"]), d["checks"]
assert len(d["probe"]) > 5 and {"name", "ok", "need", "effect", "remedy"} == set(d["probe"][0])
EOF
}

claim "without a live writer doctor checks with one of its own, and leaves nothing"
before=$(ls -d /dev/shm/ringside-doctor-* 2>/dev/null | wc -l)
"$ringside" doctor -o json >"$dir/doctor" 2>"$dir/err" || fail "doctor: exit $?: $(cat "$dir/err")"
all_ok "$dir/doctor" private "doctor with a ringsided of its own"
[ "$(ls -d /dev/shm/ringside-doctor-* 2>/dev/null | wc -l)" -eq "$before" ] || fail "a private ring was left"

claim "without a writer and without rights doctor says what to do"
setpriv --reuid 65534 --regid 65534 --clear-groups "$ringside" doctor >"$dir/doctor" 2>"$dir/err"
[ $? -eq 1 ] || fail "doctor as nobody"
grep -q 'as root' "$dir/err" || fail "doctor as nobody: $(cat "$dir/err")"

start_sidecar -F 199
claim "on a live writer doctor finds its own child"
"$ringside" doctor -o json >"$dir/doctor" 2>"$dir/err" || fail "doctor: exit $?: $(cat "$dir/doctor" "$dir/err")"
all_ok "$dir/doctor" live "doctor on a live writer"
"$ringside" doctor >"$dir/doctor" || fail "doctor as text: exit $?"
grep -q 'The main job works here' "$dir/doctor" || fail "doctor: $(cat "$dir/doctor")"

claim "record of a command holds it and its children, and nobody else"
program shares stranger
spawn "$copy" 60
program shares worker
cat >"$dir/two" <<EOF
#!/bin/sh
"$copy" 1 &
"$copy" 1
wait
exit 5
EOF
chmod +x "$dir/two"
"$ringside" record -o "$dir/two.folded" -- "$dir/two" 2>"$dir/err"
[ $? -eq 5 ] || fail "record does not end with the command's status: $(cat "$dir/err")"
grep -q '^stranger' "$dir/two.folded" && fail "a stranger in the recording"
count=$(awk '/^worker/ { n += $NF } END { print n + 0 }' "$dir/two.folded")
[ "$count" -gt 40 ] || fail "only $count samples of two programs that ran for a second"

claim "in another pid namespace record takes no stranger of the same number, and says why it is empty"
unshare --pid --fork --mount-proc "$ringside" record -o "$dir/ns.folded" -- "$copy" 1 2>"$dir/err"
grep -q 'burn' "$dir/ns.folded" && fail "samples by a number of another namespace"
grep -q 'pid namespace' "$dir/err" || fail "no word about the pid namespace: $(cat "$dir/err")"
unshare --pid --fork --mount-proc "$ringside" doctor >"$dir/doctor" 2>"$dir/err" ||
	fail "doctor in another pid namespace: $(cat "$dir/doctor" "$dir/err")"
grep -q 'another pid namespace' "$dir/doctor" || fail "doctor does not tell the namespaces apart"
exit 0
