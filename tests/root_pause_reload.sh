#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SIGUSR2 pauses and resumes; SIGHUP reads the configuration again, and a bad one keeps the old one.
. "${abs_top_srcdir:-.}/tests/root_lib.sh"

printf 'frequency: 499\nlog_level: info\n' >"$dir/c.yaml"
start_sidecar --config "$dir/c.yaml"
[ "$(status frequency_hz)" = 499 ] || fail "the frequency of the file is not used: $(status frequency_hz)"
program shares worker
spawn "$copy" 60
sleep 1

claim "SIGUSR2 pauses: no sample, shown in status, counted as skipped"
kill -USR2 "$sidecar"
sleep 0.7
before=$(status samples)
sleep 1
[ "$(status samples)" = "$before" ] || fail "samples are taken while paused"
"$ringside" status | grep -qi paused || fail "status does not say that sampling is paused"
kill -USR2 "$sidecar"
sleep 1.5
[ "$(status samples)" -gt $((before + 100)) ] || fail "sampling does not resume"
[ "$(status skipped.paused)" -gt 100 ] || fail "skipped.paused is $(status skipped.paused)"

claim "SIGHUP with a bad file names the line and keeps the old configuration"
printf 'frequency: 499\nlog_level: loudest\n' >"$dir/c.yaml"
kill -HUP "$sidecar"
await 5 grep -q "$dir/c.yaml:2:" "$dir/sidecar.log" || fail "no FILE:LINE:COLUMN in the log"
kill -0 "$sidecar" || fail "a bad configuration ended it"

claim "SIGHUP with a good file goes on sampling"
printf 'frequency: 499\nlog_level: debug\n' >"$dir/c.yaml"
kill -HUP "$sidecar"
sleep 1
now=$(status samples)
sleep 1
[ "$(status samples)" -gt "$now" ] || fail "no samples after the reload"
"$ringsided" --check-config "$dir/c.yaml" >"$dir/check" || fail "--check-config refuses a good file"
stop_sidecar
