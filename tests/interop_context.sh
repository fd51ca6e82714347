#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Released writers of other people, sampled live: what they publish is the resource, and the ids on the samples
# are the ones that each program says it has.  Downloads them by their ecosystem's own client, into ./interop,
# where they stay.  A writer that cannot be had here is named.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"

JAVA_AGENT=1.68.1
GO_TRACER=v2.12.0
here=$src/tests/interop
kept=$build/interop
mkdir -p "$kept"
checked=0
missing=

cat >"$dir/with-hook" <<'EOF'
#!/bin/sh
[ -e /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
exec "$@"
EOF
chmod 755 "$dir/with-hook"
wrapper="unshare -m --propagation private $dir/with-hook"
$wrapper true 2>/dev/null || wrapper=

export DD_SERVICE=interop DD_TRACE_AGENT_URL=http://127.0.0.1:9 DD_INSTRUMENTATION_TELEMETRY_ENABLED=false
export DD_REMOTE_CONFIGURATION_ENABLED=false

# have NAME TOOL COMMAND...: makes it, or names it as missing.
have() {
	what=$1 tool=$2
	shift 2
	if ! command -v "$tool" >/dev/null; then
		missing="$missing $what(no-$tool)"
		return 1
	fi
	"$@" >"$kept/$what.log" 2>&1 && return
	tail -n 3 "$kept/$what.log"
	missing="$missing $what(cannot-be-built)"
	return 1
}
python_with() {			# FOLDER REQUIREMENT
	[ -e "$kept/$1/done" ] && return
	python3 -m venv "$kept/$1" && "$kept/$1/bin/pip" install -q "$2" && touch "$kept/$1/done"
}
build_go() {
	[ -x "$kept/go/interop_go" ] && return
	mkdir -p "$kept/go" && cd "$kept/go" && cp "$here/main.go" . && rm -f go.mod &&
		go mod init interop && go get "github.com/DataDog/dd-trace-go/v2@$GO_TRACER" && go mod tidy &&
		go build -o interop_go .
}
build_rust() {
	[ -x "$kept/rust/target/release/interop" ] && return
	cp -r "$here/rust" "$kept/" && cd "$kept/rust" && cargo build -q --release
}
agent=$HOME/.m2/repository/com/datadoghq/dd-java-agent/$JAVA_AGENT/dd-java-agent-$JAVA_AGENT.jar
build_java() {
	[ -e "$agent" ] || mvn -q dependency:get -Dtransitive=false \
		"-Dartifact=com.datadoghq:dd-java-agent:$JAVA_AGENT" || return 1
	javac -d "$kept" "$here/Burn.java"
}

# sampled NAME LANGUAGE COMMAND...: runs it and compares.
sampled() {
	what=$1 language=$2
	shift 2
	claim "$what"
	"$@" >"$dir/$what.said" 2>"$dir/$what.err" &
	started="$! $started"
	wait $!
	[ -s "$dir/$what.said" ] || fail "$what said nothing: $(tail -n 3 "$dir/$what.err")"
	read -r pid trace span <"$dir/$what.said"
	dump "$dir/$what.json" -p "$pid" --kind sample
	query "$dir/$what.json" "$language" "$trace" "$span" "$what" <<'EOF'
language, trace, span, what = args
ss = settled(samples())
check(len(ss) >= 50, "it is sampled: %d" % len(ss))
for key, want in (("service.name", "interop"), ("telemetry.sdk.language", language)):
    named = [s for s in ss if s["resource"].get(key) == want]
    check(len(named) >= 0.9 * len(ss), "%s is %s: %d of %d" % (key, want, len(named), len(ss)))
check(not any(k.startswith("threadlocal.") for s in ss for k in s["resource"]), "threadlocal.* stays inside")
check(all(s["resource"].get("container.id") != "" for s in ss), "an empty container id is none")
ids = {(s.get("trace_id"), s.get("span_id")) for s in samples() if s.get("trace_id")}
if trace == "none":
    check(not ids, "no ids where none are published: %s" % ids)
else:
    check(ids == {(trace, span)}, "the ids are %s/%s: %s" % (trace, span, ids))
    with_ids = [s for s in ss if s.get("trace_id")]
    check(len(with_ids) >= 50, "samples with ids: %d of %d" % (len(with_ids), len(ss)))
    root = {(s.get("attributes") or {}).get("datadog.local_root_span_id") for s in with_ids}
    check(root == {span}, "the local root is the span: %s" % root)
if what.startswith("rust"):
    check({(s.get("attributes") or {}).get("http.route") for s in ss} == {"/cart"}, "its own attribute")
print("  %d samples" % len(ss))
EOF
	checked=$((checked + 1))
}

have ddtrace-newest python3 python_with ddtrace-newest ddtrace && newest=1
have ddtrace-4.13.3 python3 python_with ddtrace-4.13.3 ddtrace==4.13.3 && wrongfield=1
have go go build_go && go=1
have rust cargo build_rust && rust=1
have java mvn build_java && java=1
start_sidecar -F 199
[ -z "${newest:-}" ] || sampled ddtrace-newest python "$kept/ddtrace-newest/bin/python" "$here/burn.py" 6
# Its keys are in the wrong field, and its publication is not on by default.
[ -z "${wrongfield:-}" ] || DD_TRACE_OTEL_CTX_ENABLED=true \
	sampled ddtrace-4.13.3 python "$kept/ddtrace-4.13.3/bin/python" "$here/burn.py" 6
[ -z "${go:-}" ] || sampled go go "$kept/go/interop_go" 6
[ -z "${rust:-}" ] || sampled rust rust "$kept/rust/target/release/interop" 6
[ -z "${java:-}" ] || sampled java java java "-javaagent:$agent" -Ddd.profiling.enabled=true \
	-Ddd.profiling.ddprof.enabled=true -Ddd.profiling.start-force-first=true \
	'-Ddd.trace.methods=Burn[burn]' -cp "$kept" Burn 8
stop_sidecar
[ -z "$missing" ] || echo "not checked:$missing"
[ $checked -gt 0 ] || skip "no writer could be had:$missing"
