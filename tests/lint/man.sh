#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every page is sound mdoc; first, the linter is seen to complain about a page that is not.
command -v mandoc >/dev/null || { echo "no mandoc (apt-get install mandoc)"; exit 77; }
lint() { mandoc -Tlint -Wstyle -Ios=Linux "$@"; }

printf '.Dd January 1, 2026\n.Dt X 1\n.Os\n.Sh NAME\n.Nm x\n.Sh NO SUCH\n.Xx y\n' >lint-planted.1
if lint lint-planted.1 >/dev/null 2>&1; then
	echo "mandoc found nothing in a page with planted mistakes"
	exit 1
fi
rm -f lint-planted.1
failed=0
pages=0
for page in "$srcdir"/man/*.[1-8]; do
	[ -f "$page" ] || continue
	pages=$((pages + 1))
	# "referenced manual not found" depends on what is installed on this machine.
	out=$(lint "$page" 2>&1 | grep -v -e 'referenced manual not found' -e 'outdated mandoc.db')
	[ -z "$out" ] || { echo "$out"; failed=1; }
done
echo "$pages pages"
exit $failed
