#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Records the event streams of tests/replay/ anew, and their golden output, on the machine that it runs
# on.  Needed when the journal's format or what a record says changes on purpose; look at the difference
# of the .json files before committing them.  Run as root in the build directory:
#   sh $srcdir/tests/record-replay.sh $srcdir
set -eu
src=${1:?usage: record-replay.sh SOURCE_DIRECTORY}
top=$(pwd)
play=/tmp/ringside-replay	# paths of the recorded programs: not those of a build machine
rm -rf "$play"
mkdir -p "$play" "$src/tests/replay"
cp tests/demo_workload "$play/worker"
strip --strip-debug "$play/worker"	# lines would name the build directory

# record NAME SECONDS COMMAND...: all that a shell which runs COMMAND does
record() {
	name=$1 seconds=$2
	shift 2
	env -i PATH=/usr/bin:/bin "$@" &
	pid=$!
	"$top/ringsided" --ring "$play/ring" -F 99 --scope "pid:$pid" --node replayed --duration "$seconds" -q \
		--record-events "$play/$name.journal"
	kill "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
	"$top/ringsided" --replay "$play/$name.journal" --ring "$play/replayed" -q --log-level error
	"$top/ringside" tail --ring "$play/replayed" --no-follow -q -o json --kind sample,process,lost,clock |
		sed 's/"seq":"[0-9]*",//' >"$src/tests/replay/$name.json"
	gzip -9 -n -c "$play/$name.journal" >"$src/tests/replay/$name.journal.gz"
	rm -f "$play"/ring* "$play"/replayed*
}

# A program whose shares are known, with a service name in its environment.
record shares 3 env OTEL_SERVICE_NAME=shop OTEL_RESOURCE_ATTRIBUTES=team=caf%C3%A9,tier=2 "$play/worker" 3
# A shell that runs short programs, then becomes another program.
record exec 3 sh -c 'sleep 0.3; for i in 1 2 3; do ls / >/dev/null; done
	exec env OTEL_SERVICE_NAME=second '"$play"'/worker 2'
rm -rf "$play"
ls -l "$src/tests/replay"
