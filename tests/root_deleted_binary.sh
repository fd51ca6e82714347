#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Running programs whose file is gone, replaced, or really called "x (deleted)".
. "${abs_top_srcdir:-.}/tests/root_lib.sh"
need readelf

program shares gone
build_id=$(readelf -n "$copy" | sed -n 's/.*Build ID: //p')
spawn "$copy" 60
gone=$spawned
program shares replaced
spawn "$copy" 60
replaced=$spawned
program shares "odd (deleted)"
spawn "$copy" 60
odd=$spawned
sleep 0.2
rm "$dir/gone" "$dir/replaced"
mkfifo "$dir/replaced"			# whoever opens the name would wait
start_sidecar -F 499
sleep 3
dump "$dir/all.json"
claim "path without the kernel's mark, names and build id from the file that runs"
query "$dir/all.json" "$gone" "$replaced" "$odd" "$dir" "$build_id" <<'EOF'
where, build_id = args[3], args[4]
for pid, name in ((args[0], "gone"), (args[1], "replaced"), (args[2], "odd (deleted)")):
    ss = samples(pid)
    path = where + "/" + name
    check(len(ss) > 50, "%s is sampled: %d" % (name, len(ss)))
    got = {exe(s) for s in settled(ss)}
    check(got == {path}, "%s: its path: %s" % (name, got))
    got = share(settled(ss), "burn_seventy")
    check(55 < got < 80, "%s: burn_seventy is named: %.0f percent" % (name, got))
    own = [f for f in user_frames(ss) if (f.get("function") or "").startswith("burn_")]
    check({f.get("mapping") for f in own} == {path}, "%s: mapping path: %s" % (name, {f.get("mapping") for f in own}))
    check({f.get("build_id") for f in own} == {build_id}, "%s: build id" % name)
EOF
stop_sidecar
