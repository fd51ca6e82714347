#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants one violation after the other in a small sound tree and sees that atomics.py reports it, and only it."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import atomics      # noqa: E402

SOUND = {
    "shm/ring_atomic.h": "#define ring_relaxed_load(p)\t__atomic_load_n((p), 0)\n"
                         "static inline void ring_publish(uint64_t *t)\n{\n}\n",
    "shm/a.c": "/* __atomic_load_n in a comment, a fence too */\nint f(void) { ring_publish(0); ring_fence_copied(); }\n",
    "tests/models/src/m.rs": 'name: "m",\nmutants: &["weak", "gone"],\n',
    "tests/check_ring_x.c": "START_TEST(holds)\n",
    "tests/gate.sh": "",
    "ARCHITECTURE.md": "# A\n## Orders of the ring\n\n| operation | partner | dies |\n|---|---|---|\n"
                       "| `ring_relaxed_load` | all | `check_ring:holds` |\n"
                       "| `ring_publish` | load | `m:weak`, `tests/gate.sh` |\n\nRules: `m:gone`.\n\n## Next\n`x:y`\n",
}
A = "ARCHITECTURE.md"
# (what, path, old, new, part of the one report or None for "no complaint")
CASES = [
    ("a sound tree", "shm/a.c", "", "", None),
    ("__atomic in a .c", "shm/a.c", "int f", "int g(void) { __atomic_store_n(p, 1, 0); }\nint f", "ring_atomic.h only"),
    ("C11 atomic", "shm/a.c", "int f", "int g(void) { atomic_load(p); }\nint f", "ring_atomic.h only"),
    ("a fence", "shm/a.c", "int f", "int g(void) { my_fence(); }\nint f", "my_fence"),
    ("an asm", "shm/a.c", "int f", 'int g(void) { __asm__("" ::: "memory"); }\nint f', "__asm__"),
    ("an asm that only hides", "shm/a.c", "int f", 'int g(int x) { __asm__("" : "+r"(x)); }\nint f', None),
    ("a volatile", "shm/a.c", "int f", "volatile int g;\nint f", "volatile"),
    ("an operation without a row", "shm/ring_atomic.h", "#define", "#define ring_new(p)\tx\n#define", "ring_new of"),
    ("a function without a row", "shm/ring_atomic.h", "static",
     "static inline uint64_t ring_more(int x)\n{\n}\nstatic", "ring_more of"),
    ("a row without an operation", A, "| `ring_publish`", "| `ring_old` | x | `m:weak` |\n| `ring_publish`", "no operation"),
    ("no partner", A, "| load |", "|  |", "no partner"),
    ("no killer", A, "| `check_ring:holds` |", "| somebody |", "nothing kills"),
    ("a mutant that is not there", A, "`m:gone`", "`m:gone` `m:never`", "m:never does not exist"),
    ("a test that is not there", A, "`m:gone`", "`m:gone` `check_ring:never`", "check_ring:never does not"),
    ("a file that is not there", A, "`m:gone`", "`m:gone` `tests/never`", "tests/never does not"),
    ("a mutant that is not named", "tests/models/src/m.rs", '"gone"', '"gone", "fresh"', "m:fresh is not named"),
]


def run(path, old, new):
    with tempfile.TemporaryDirectory() as tree:
        for name, text in SOUND.items():
            full = os.path.join(tree, name)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as f:
                f.write(text.replace(old, new, 1) if name == path and old else text)
        return atomics.lint(tree)


def main():
    failed = 0
    for what, path, old, new, want in CASES:
        got = run(path, old, new)
        ok = got == [] if want is None else len(got) == 1 and want in got[0]
        failed += not ok
        print("%s %s%s" % ("ok" if ok else "not ok", what, "" if ok else ": want %r, got %r" % (want, got)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
