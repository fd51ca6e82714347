#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes ./configure from a clone.
cd "$(dirname "$0")" || exit 1
mkdir -p m4 build-aux && exec autoreconf -fi "$@"
