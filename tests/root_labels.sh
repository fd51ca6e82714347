#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Labels of real processes: a pod's container made by runc, a process that is moved into one, our own pod's
# facts for its siblings and for nobody else, rules over all of them.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"

v2=$(cgroup2)
[ -n "$v2" ] || skip "no cgroup2 hierarchy"
uid=0a1b2c3d-1111-2222-3333-$(printf %012x $$)
hex=0123456789abcdef0123456789abcdef0123456789abcdef0123456789
main=$hex$(printf %04xaa $(($$ % 65536)))
sibling=$hex$(printf %04xbb $(($$ % 65536)))
moved=$hex$(printf %04xcc $(($$ % 65536)))
top=ringside-test-$$/kubepods/burstable/pod$uid
program shares worker

on_exit() {
	runc delete -f "ringside-$sibling" >/dev/null 2>&1
	for g in "$main" "$sibling" "$moved"; do rmdir "$v2/$top/$g" 2>/dev/null; done
	rmdir "$v2/$top" "$v2/${top%/*}" "$v2/${top%/*/*}" "$v2/${top%%/*}" 2>/dev/null
	find /sys/fs/cgroup -depth -type d -path "*/ringside-test-$$*" -exec rmdir {} + 2>/dev/null
}
mkdir -p "$v2/$top/$main" "$v2/$top/$moved" || skip "cannot make a cgroup under $v2"

# bundle: a root with the worker in it, run as a container of the pod.
bundle() {
	mkdir -p "$dir/bundle/rootfs"
	for lib in $(ldd "$copy" | grep -o '/[^ ]*'); do
		mkdir -p "$dir/bundle/rootfs${lib%/*}" && cp -L "$lib" "$dir/bundle/rootfs$lib"
	done
	cp "$copy" "$dir/bundle/rootfs/worker"
	(cd "$dir/bundle" && runc spec) &&
		python3 - "$dir/bundle/config.json" "/$top/$sibling" <<'EOF'
import json, sys
c = json.load(open(sys.argv[1]))
c["process"].update(args=["/worker", "4"], terminal=False)
c["linux"]["cgroupsPath"] = sys.argv[2]
c["linux"].pop("resources", None)
json.dump(c, open(sys.argv[1], "w"))
EOF
}

cat >"$dir/rules.yaml" <<EOF
external_labels: {region: eu}
kubernetes: {podinfo_dir: $dir/podinfo}
relabel_configs:
- {source_labels: [__meta_process_ppid], regex: "2", action: drop}
- {source_labels: [__meta_process_cmdline], regex: ".*worker 2 1 (.+)", target_label: role}
EOF
mkdir "$dir/podinfo"
printf 'app="web"\n' >"$dir/podinfo/labels"

# The sidecar is a container of the pod itself: in its cgroup, with a cgroup namespace of its own.
cat >"$dir/in_pod" <<EOF
#!/bin/sh
echo \$\$ >"$v2/$top/$main/cgroup.procs"
exec env POD_NAME=web-1 POD_NAMESPACE=shop POD_UID=$uid unshare -C "\$@"
EOF
chmod 755 "$dir/in_pod"
wrapper="$dir/in_pod"
start_sidecar -F 499 --config "$dir/rules.yaml"
wrapper=

runs=
if command -v runc >/dev/null && bundle && (cd "$dir/bundle" && runc run -d "ringside-$sibling" >"$dir/runc.log" 2>&1 </dev/null); then
	runs=yes
else
	echo "not checked: a container by runc: $(cat "$dir/runc.log" 2>/dev/null)"
	mkdir -p "$v2/$top/$sibling"
	sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" 4' sh "$v2/$top/$sibling" "$copy" &
	started="$! $started"
fi
"$copy" 4 &
host=$!
"$copy" 2 1 special &
role=$!
started="$host $role $started"
sleep 1
echo "$host" >"$v2/$top/$moved/cgroup.procs"
wait "$host" "$role"
sleep 1
dump "$dir/all.json" --comm worker
dump "$dir/role.json" -p "$role"
dump "$dir/any.json"

claim "containers of our pod have its names, host processes do not; a move shows at once"
query "$dir/all.json" "$host" "$sibling" "$moved" "$uid" <<'EOF'
host, sibling, moved, uid = int(args[0]), args[1], args[2], args[3]
ss = samples()
inside = [s for s in ss if s["resource"].get("container.id") == sibling]
check(len(inside) > 200, "the sibling container is sampled and has its id: %d" % len(inside))
last = inside[-1]["resource"]
for key, want in (("k8s.pod.name", "web-1"), ("k8s.namespace.name", "shop"), ("k8s.pod.uid", uid),
                  ("k8s.pod.label.app", "web"), ("region", "eu")):
    check(last.get(key) == want, "%s of the sibling is %s: %s" % (key, want, last.get(key)))
mine = [s for s in ss if s["pid"] == host]
before = [s for s in mine if "container.id" not in s["resource"]]
after = [s for s in mine if s["resource"].get("container.id") == moved]
check(len(before) > 10 and len(after) > 200, "labels before and after the move: %d, %d" % (len(before), len(after)))
check(all("k8s.pod.name" not in s["resource"] for s in before), "a host process is not of our pod")
check(after[-1]["resource"].get("k8s.pod.name") == "web-1", "moved into our pod, it is")
check(all("process.command_line" not in s["resource"] for s in ss), "the command line itself is not published")
EOF

claim "a rule takes a part of the command line of another host process"
query "$dir/role.json" <<'EOF'
ss = [s for s in samples() if s["resource"].get("process.executable.name") == "worker"]
check(len(ss) > 200, "it is sampled: %d" % len(ss))
check(ss[-1]["resource"].get("role") == "special", "what the rule says: %s" % ss[-1]["resource"])
check(all("k8s.pod.name" not in s["resource"] for s in ss), "it is not of our pod")
EOF

claim "kernel threads are dropped by a rule on their parent, and counted"
query "$dir/any.json" <<'EOF'
check(all(s["resource"].get("process.executable.path") for s in samples() if s["resource"].get("comm", "").startswith("kworker")),
      "no kworker is in the ring")
EOF
"$ringside" status -o json >"$dir/status.json"
python3 -c 'import json,sys; print("skipped by rules: %d" % json.load(open(sys.argv[1]))["skipped"]["rules"])' "$dir/status.json"
stop_sidecar

claim "--explain-labels shows every step"
"$copy" 30 &
explained=$!
started="$explained $started"
sleep 0.2
"$ringsided" --config "$dir/rules.yaml" --explain-labels "$explained" -o json >"$dir/explained.json" ||
	fail "--explain-labels $explained: exit $?"
python3 - "$dir/explained.json" "$explained" <<'EOF' || fail "what --explain-labels says (above)"
import json, sys
x = json.load(open(sys.argv[1]))
assert x["pid"] == int(sys.argv[2]) and x["dropped"] is False, x
assert x["labels"]["__meta_process_cmdline"].endswith("worker 30"), x["labels"]
assert x["labels"]["__meta_process_executable_compiler"].startswith(("GCC ", "Clang ")), x["labels"]
assert [r["did"] for r in x["rules"]] == ["kept", "no match"], x["rules"]
assert x["attributes"]["region"] == "eu" and x["attributes"]["process.pid"] == int(sys.argv[2]), x["attributes"]
assert not [k for k in x["attributes"] if k.startswith("__meta_")], x["attributes"]
EOF
[ -n "$runs" ] || skip "runc could not make a container here; the rest passed"
