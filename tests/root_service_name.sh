#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who a process is: OTEL_* in its environment, and the container that its cgroup path names.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"

start_sidecar -F 499
program shares worker
OTEL_SERVICE_NAME=shop OTEL_RESOURCE_ATTRIBUTES='team=caf%C3%A9, tier = back ' "$copy" 1 &
shop=$!
"$copy" 1 &
plain=$!
started="$shop $plain $started"
wait "$shop" "$plain"

claim "OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES become the resource"
dump "$dir/shop.json"
query "$dir/shop.json" "$shop" "$plain" <<'EOF'
shop, plain = samples(args[0], "worker"), samples(args[1], "worker")	# not yet: sh, about to exec
check(len(shop) > 200 and len(plain) > 200, "both are sampled: %d, %d" % (len(shop), len(plain)))
for key, want in (("service.name", "shop"), ("team", "caf\u00e9"), ("tier", "back")):
    got = {s["resource"].get(key) for s in shop}
    check(got == {want}, "%s is %s: %s" % (key, want, got))
got = {s["resource"].get("service.name") for s in plain}
check(got == {"worker"}, "without the variable service.name is the comm: %s" % got)
check({s["resource"].get("process.executable.name") for s in plain} == {"worker"}, "executable name")
check(all(s["resource"].get("process.pid") == s["pid"] for s in shop + plain), "process.pid")
EOF

v2=$(cgroup2)
[ -n "$v2" ] || { echo "not checked: container id (no cgroup2 hierarchy)"; stop_sidecar; exit 0; }
id=0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab$(printf %04x $(($$ % 65536)))
group=$v2/ringside-test-$$
pod=$group/kubepods.slice/kubepods-besteffort.slice/cri-containerd-$id.scope
on_exit() {
	rmdir "$pod" "${pod%/*}" "${pod%/*/*}" "$group" 2>/dev/null
}
mkdir -p "$pod" || skip "cannot make a cgroup under $v2"
sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" 1' sh "$pod" "$copy" &
inside=$!
started="$inside $started"
wait "$inside"

claim "a process in a container's cgroup has the bare container id"
dump "$dir/inside.json" -p "$inside" --comm worker
query "$dir/inside.json" "$id" <<'EOF'
ss = samples()
check(len(ss) > 200, "it is sampled: %d" % len(ss))
got = {s["resource"].get("container.id") for s in ss}
check(got == {args[0]}, "container.id is the id: %s" % got)
EOF
stop_sidecar
