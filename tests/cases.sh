#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tables of tests/cases through run-cases.
failed=0
for table in cgroup otelenv; do
	tests/run-cases $table "$srcdir/tests/cases/${table}_cases.json" >cases-$table.out || failed=1
	grep '^not ok' cases-$table.out
	echo "$table: $(grep -c '^ok' cases-$table.out) rows ok"
	[ "$(grep -c '^ok' cases-$table.out)" -gt 40 ] || failed=1
done
# A table that holds a wrong row is told apart.
printf '%s\n' '[{"name":"wrong","lines":["0::/"],"container_id":"x","pod_uid":null}]' >cases-wrong.json
tests/run-cases cgroup cases-wrong.json >cases-wrong.out && failed=1
grep -q '^not ok wrong: expected x/none/any got none/none/' cases-wrong.out || failed=1
for table in relabel_cases.json relabel_random.jsonl; do
	tests/run-cases relabel "$srcdir/tests/cases/$table" >cases-relabel.out || failed=1
	grep '^not ok' cases-relabel.out
	echo "$table: $(grep -c '^ok' cases-relabel.out) rows ok"
	[ "$(grep -c '^ok' cases-relabel.out)" -gt 100 ] || failed=1
done
printf '%s\n' '{"name":"wrong","config":[],"input":{"a":"b"},"output":null}' >cases-wrong.json
tests/run-cases relabel cases-wrong.json >cases-wrong.out && failed=1
grep -q '^not ok wrong: expected null got {"a":"b"}' cases-wrong.out || failed=1
rm -f cases-relabel.out cases-cgroup.out cases-otelenv.out cases-wrong.json cases-wrong.out
exit $failed
