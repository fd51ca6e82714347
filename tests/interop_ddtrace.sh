#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ddtrace of PyPI, the newest and one that declares its threads in the wrong field: what it says of its own
# spans must stand on the samples of its threads.  DDTRACE_VERSIONS='4.13.3 4.16.0' picks.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"
python3 -c 'import venv, ensurepip' 2>/dev/null || skip "python3 has no venv (apt-get install python3-venv)"

cat >"$dir/app.py" <<'PY'
"""Two threads, one span after the other: tid, begin and end on the boot clock, ids."""
import threading
import time
from ddtrace.trace import tracer


def burn(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(5000))


def work():
    for _ in range(4):
        with tracer.trace("op") as s:
            begin = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            burn(0.7)
            end = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            print(threading.get_native_id(), begin, end, "%032x" % s.trace_id, "%016x" % s.span_id, flush=True)


threads = [threading.Thread(target=work) for _ in range(2)]
burn(3)
for t in threads:
    t.start()
for t in threads:
    t.join()
PY

one() {			# VERSION, or `newest`
	rm -rf "$dir/venv"
	python3 -m venv "$dir/venv" || skip "python3 -m venv does not work"
	package=ddtrace
	[ "$1" = newest ] || package=ddtrace==$1
	"$dir/venv/bin/pip" -q install --only-binary :all: "$package" >"$dir/pip.log" 2>&1 ||
		skip "$package cannot be installed: $(tail -n 1 "$dir/pip.log")"
	version=$("$dir/venv/bin/python" -c 'import ddtrace; print(ddtrace.__version__)' 2>/dev/null)
	claim "ddtrace $version: ids on samples are those that it says it had"
	DD_TRACE_OTEL_CTX_ENABLED=true DD_INSTRUMENTATION_TELEMETRY_ENABLED=false DD_SERVICE=shop \
		spawn "$dir/venv/bin/python" "$dir/app.py" >"$dir/spans" 2>"$dir/app.err"
	pid=$spawned
	wait "$pid" || fail "the program ended with $?: $(tail -n 3 "$dir/app.err")"
	dump "$dir/all.json" -p "$pid"
	query "$dir/all.json" "$dir/spans" <<'PY'
spans = [line.split() for line in open(args[0])]
check(len(spans) == 8, "spans: %d" % len(spans))
right, wrong, without = 0, [], 0
for s in samples():
    inside = [x for x in spans if int(x[0]) == s["tid"] and int(x[1]) <= int(s["boot_nano"]) <= int(x[2])]
    if not inside:
        continue
    if s.get("trace_id") == inside[0][3] and s.get("span_id") == inside[0][4]:
        right += 1
        check(s["attributes"].get("datadog.local_root_span_id") == inside[0][4], "root: %s" % s["attributes"])
        check(not [k for k in s["resource"] if k.startswith("threadlocal.")], "threadlocal.* is exported")
    elif "trace_id" in s:
        wrong.append((s["trace_id"], inside[0][3]))
    else:
        without += 1
print("%d right, %d wrong, %d without" % (right, len(wrong), without))
check(right >= 50, "samples inside of spans: %d" % right)
check(not wrong, "wrong: %s" % wrong[:3])
check(without * 20 <= right, "without: %d" % without)
PY
}

start_sidecar -F 499
for v in ${DDTRACE_VERSIONS:-newest 4.13.3}; do
	one "$v"
done
stop_sidecar
