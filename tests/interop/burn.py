# SPDX-License-Identifier: Apache-2.0
"""A span of ddtrace: says which ids it has, and burns."""
import os
import sys
import time

from ddtrace.trace import tracer

with tracer.trace("burn") as span:
    print(os.getpid(), "%032x" % span.trace_id, "%016x" % span.span_id, flush=True)
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        sum(range(1000))
