#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The house rules over this tree.
command -v python3 >/dev/null || { echo "no python3 (apt-get install python3)"; exit 77; }
exec python3 -B "$srcdir/tests/lint/lint.py" "$srcdir"
