#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every memory order of the ring has a partner and something that dies without it; first, the lint's own test.
command -v python3 >/dev/null || { echo "no python3 (apt-get install python3)"; exit 77; }
python3 -B "$srcdir/tests/lint/atomics_selftest.py" || exit 1
exec python3 -B "$srcdir/tests/lint/atomics.py" "$srcdir"
