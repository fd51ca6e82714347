#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants one violation of every rule in a tree of its own and sees that lint.py reports it, and only it."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lint     # noqa: E402

SPDX = "/* SPDX-License-Identifier: Apache-2.0 */\n"
LONG = "int f(void)\n{\n" + "\ta();\n" * 121 + "}\n"

# (what, path, text after the SPDX line, part of the expected report or None for "no complaint")
CASES = [
    ("shm includes sidecar", "shm/a.c", '#include "sidecar/clock/clock.h"\n', "libc only"),
    ("shm includes bpf", "shm/a.c", '#include "bpf/event.h"\n', "libc only"),
    ("shm includes a library", "shm/a.c", "#include <xxhash.h>\n", "does not use this library"),
    ("shm includes itself and libc", "shm/a.c",
     '#include <stdatomic.h>\n#include "shm/ring_layout.h"\n', None),
    ("client includes the write side", "client/a.c", '#include "shm/ring_writer.h"\n', "only shm/ringside.h"),
    ("client includes sidecar", "client/a.c", '#include "sidecar/log.h"\n', "only shm/ringside.h"),
    ("client includes bpf", "client/a.c", '#include "bpf/event.h"\n', "only shm/ringside.h"),
    ("client includes libbpf", "client/a.c", "#include <bpf/libbpf.h>\n", "does not use this library"),
    ("client as allowed", "client/a.c", '#include "shm/ringside.h"\n#include "client/a.h"\n', None),
    ("bpf includes libc", "bpf/a.bpf.c", "#include <string.h>\n", "nothing from libc"),
    ("bpf includes sidecar", "bpf/a.bpf.c", '#include "sidecar/log.h"\n', "only itself"),
    ("bpf as allowed", "bpf/a.bpf.c", '#include "bpf/event.h"\n#include <bpf/bpf_helpers.h>\n', None),
    ("a private header of shm in sidecar", "sidecar/publish/a.c",
     '#include "shm/ring_layout.h"\n', "only ring_writer.h"),
    ("skeleton outside collect", "sidecar/process/a.c", '#include "bpf/ringside.skel.h"\n', "only event.h"),
    ("skeleton in collect", "sidecar/collect/a.c", '#include "bpf/ringside.skel.h"\n', None),
    ("sidecar includes client", "sidecar/clock/a.c", '#include "client/a.h"\n', "does not see"),
    ("a later stage", "sidecar/clock/a.c", '#include "sidecar/publish/publish.h"\n', "later stage publish"),
    ("an earlier stage", "sidecar/publish/a.c", '#include "sidecar/clock/clock.h"\n', None),
    ("loop knows a stage", "sidecar/loop/a.c", '#include "sidecar/collect/collect.h"\n', "later stage"),
    ("an unknown stage", "sidecar/clock/a.c", '#include "sidecar/extra/a.h"\n', "unknown stage"),
    ("a stage knows the pipeline", "sidecar/clock/a.c", '#include "sidecar/pipeline.h"\n', "knows the pipeline"),
    ("privilege knows a stage", "sidecar/privilege.c",
     '#include "sidecar/symbols/worker.h"\n', "only main and pipeline"),
    ("pipeline sees all", "sidecar/pipeline.c", '#include "sidecar/publish/publish.h"\n', None),
    ("an include not from the top", "sidecar/clock/a.c", '#include "clock.h"\n', "from the top"),
    ("private futex", "shm/a.c", "int x = FUTEX_WAIT_PRIVATE;\n", "private futex"),
    ("private futex in a comment", "shm/a.c", "/* never FUTEX_PRIVATE_FLAG */\n", None),
    ("strcpy", "shm/a.c", "void f(void) { strcpy(a, b); }\n", "strcpy()"),
    ("strcat", "client/a.c", "void f(void) { strcat (a, b); }\n", "strcat()"),
    ("sprintf", "sidecar/a.c", "void f(void) { sprintf(a, b); }\n", "sprintf()"),
    ("gets", "tests/a.c", "void f(void) { gets(a); }\n", "gets()"),
    ("atoi", "bench/a.c", "int f(void) { return atoi(a); }\n", "atoi()"),
    ("snprintf and fgets", "shm/a.c", "void f(void) { snprintf(a, 1, b); fgets(a, 1, c); }\n", None),
    ("a banned name in a string", "shm/a.c", 'const char *s = "strcpy(a)";\n', None),
    ("unfinished", "shm/a.c", "/* TO" + "DO: later */\n", "unfinished"),
    ("unfinished", "tests/a.sh", "# FIX" + "ME\n", "unfinished"),
    ("a paper elsewhere", "shm/a.c", "/* see DES" + "IGN section 4 */\n", "not in the tree"),
    ("long file", "shm/a.c", "int x;\n" * 599, "file of 600 lines"),
    ("file at the limit", "shm/a.c", "int x;\n" * 598, None),
    ("long function", "shm/a.c", LONG, "function of 121 lines"),
    ("blanks at the end", "shm/a.c", "int x; \n", "end of the line"),
    ("not ASCII", "shm/a.c", "/* \u2014 */\n", "not ASCII"),
]


def run(path, text):
    with tempfile.TemporaryDirectory() as tree:
        full = os.path.join(tree, path)
        os.makedirs(os.path.dirname(full))
        with open(full, "w", encoding="utf-8") as f:
            f.write(text)
        return lint.lint(tree)


def main():
    failed = 0
    cases = [(what, path, SPDX + text, want) for what, path, text, want in CASES]
    cases.append(("no SPDX line", "shm/a.c", "int x;\n", "no SPDX"))
    cases.append(("no SPDX line in a script", "tests/a.sh", "#!/bin/sh\n", "no SPDX"))
    for what, path, text, want in cases:
        got = run(path, text)
        if want is None:
            ok = got == []
        else:
            ok = len(got) == 1 and want in got[0]
        if not ok:
            failed += 1
        print("%s %s%s" % ("ok" if ok else "not ok", what, "" if ok else ": want %r, got %r" % (want, got)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
