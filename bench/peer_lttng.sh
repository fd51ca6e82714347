#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# peer_lttng.sh BUILD CC LEN: ns an event of LTTng-UST, with a session daemon of its own, as nobody: a
# snapshot session that overwrites, 16 buffers of 1 MiB a CPU.  Or one line that says why there is none.
build=$1 cc=$2 len=$3
source=$(dirname "$(dirname "$(readlink -f "$0")")")
command -v lttng >/dev/null && command -v lttng-sessiond >/dev/null || { echo "lttng-tools is not installed"; exit 0; }
dir=$(mktemp -d /tmp/bench-lttng.XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
$cc -std=gnu11 -O2 -D_GNU_SOURCE -I"$source" -o "$dir/peer" "$source/bench/peer_lttng.c" -llttng-ust -llttng-ust-common -ldl \
	>"$dir/cc.log" 2>&1 || { echo "liblttng-ust-dev is not installed"; exit 0; }
chmod 755 "$dir" && mkdir "$dir/home" && chown nobody "$dir/home" || exit 1
cat >"$dir/run" <<'RUN'
export HOME=$1/home LTTNG_HOME=$1/home
cd "$1/home" || exit 1
lttng-sessiond --daemonize --pidfile="$HOME/pid" >/dev/null 2>&1 || { echo "no session daemon"; exit 0; }
{
	lttng create bench --snapshot && lttng enable-channel --userspace --overwrite \
		--subbuf-size=1M --num-subbuf=16 c && lttng enable-event --userspace --channel=c 'ringside_bench:*' &&
	lttng start
} >log 2>&1 || { echo "no session: $(tail -1 log)"; }
"$1/peer" "$2"
lttng destroy bench >/dev/null 2>&1
kill "$(cat "$HOME/pid")"
RUN
setpriv --reuid=nobody --regid=nogroup --clear-groups sh "$dir/run" "$dir" "$len"
