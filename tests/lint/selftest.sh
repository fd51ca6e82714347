#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Does the lint catch what it is for?
command -v python3 >/dev/null || { echo "no python3 (apt-get install python3)"; exit 77; }
exec python3 -B "$srcdir/tests/lint/selftest.py"
