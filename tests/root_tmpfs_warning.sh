#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A ring that is not on tmpfs: one warning at start and in status, never a refusal.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"

for try in "$dir" /var/tmp "$build" /root; do
	[ "$(stat -f -c %T "$try")" != tmpfs ] && disk=$try && break
done
[ -n "${disk:-}" ] || skip "no folder here that is not on tmpfs"
ring=$disk/ringside-test.$$.ring
RINGSIDE_RING=$ring
on_exit() { rm -f "$ring" "$ring".*; }
start_sidecar -F 199
program shares worker
"$copy" 0.5
claim "one warning that names tmpfs, in the log and in status; it works"
[ "$(grep -c -i tmpfs "$dir/sidecar.log")" = 1 ] || fail "the log has not exactly one line on tmpfs"
status warnings | grep -qi tmpfs || fail "status does not warn: $(status warnings)"
dump "$dir/all.json" --comm worker
query "$dir/all.json" <<'EOF'
check(len(samples()) > 50, "samples: %d" % len(samples()))
EOF
stop_sidecar
