#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ties shm/ring_atomic.h, the table "Orders of the ring" of ARCHITECTURE.md and the models together.

No other file of shm/ names an atomic operation or a fence; every operation of ring_atomic.h is a row of
the table, with a partner and at least one killer that exists (MODEL:MUTANT of tests/models/src, a test of
tests/check_ring*.c as check_ring:NAME, or a file tests/NAME); every mutant of the models is named there.
"""
import os
import re
import sys

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", re.S)
RAW = re.compile(r"\b(__atomic_\w+|__sync_\w+|atomic_\w+|_Atomic|memory_order\w*|__asm__|asm|volatile"
                 r"|__volatile__|\w*fence\w*|stdatomic)\b")
OPERATION = re.compile(r"^#define\s+(ring_\w+|RING_COMPILER_BARRIER)\(|^static inline [\w *]*?\b(ring_\w+)\(", re.M)
ROW = re.compile(r"^\| `(\w+)` \|([^|]*)\|([^|]*)\|", re.M)
KILLER = re.compile(r"`([\w./]+(?::\w+)?)`")
# Hides a value from the compiler, and orders nothing.
HIDES = re.compile(r'__asm__\("" : "\+r"\(\w+\)\)')
TITLE = "## Orders of the ring"


def blank(text):
    return COMMENT.sub(lambda m: "\n" * m.group(0).count("\n") or " ", text)


def read(tree, path):
    with open(os.path.join(tree, path), encoding="utf-8") as f:
        return f.read()


def listed(tree, folder, ends):
    return sorted(folder + "/" + n for n in os.listdir(os.path.join(tree, folder)) if n.endswith(ends))


def raw_operations(tree):
    for path in listed(tree, "shm", (".c", ".h")):
        if path == "shm/ring_atomic.h":
            continue
        for n, line in enumerate(blank(HIDES.sub("", read(tree, path))).split("\n"), 1):
            for m in RAW.finditer(line):
                if m.group(1) != "ring_fence_copied":
                    yield "%s:%d: %s; orders stand in shm/ring_atomic.h only" % (path, n, m.group(1))


def operations(tree):
    return [a or b for a, b in OPERATION.findall(blank(read(tree, "shm/ring_atomic.h")))]


def mutants(tree):
    found = set()
    for path in listed(tree, "tests/models/src", ".rs"):
        text = read(tree, path)
        name = re.search(r'name: "(\w+)"', text)
        block = re.search(r"mutants: &\[(.*?)\]", text, re.S)
        if name and block:
            found |= {"%s:%s" % (name.group(1), m) for m in re.findall(r'"(\w+)"', block.group(1))}
    return found


def suite_tests(tree):
    found = set()
    for path in listed(tree, "tests", ".c"):
        if os.path.basename(path).startswith("check_ring"):
            found |= {"check_ring:" + t for t in re.findall(r"START_TEST\((\w+)\)", read(tree, path))}
    return found


def section(tree):
    text = read(tree, "ARCHITECTURE.md")
    if TITLE not in text:
        return ""
    return text.split(TITLE, 1)[1].split("\n## ", 1)[0]


def killer_exists(tree, killer, known):
    if killer.startswith("tests/"):
        return any(os.path.exists(os.path.join(tree, killer + end)) for end in ("", ".c"))
    return killer in known


def table(tree):
    text, ops, models = section(tree), operations(tree), mutants(tree)
    known = models | suite_tests(tree)
    rows = {m.group(1): m for m in ROW.finditer(text)}
    if not ops or not models:
        yield "no operation or no mutant found: this lint no longer understands what it reads"
    for op in ops:
        if op not in rows:
            yield "ARCHITECTURE.md: %s of shm/ring_atomic.h has no row" % op
        elif not rows[op].group(2).strip():
            yield "ARCHITECTURE.md: %s has no partner" % op
        elif not any(killer_exists(tree, k, known) for k in KILLER.findall(rows[op].group(3))):
            yield "ARCHITECTURE.md: nothing kills %s" % op
    for name in rows:
        if name.lower().startswith("ring_") and name not in ops:
            yield "ARCHITECTURE.md: %s is no operation of shm/ring_atomic.h" % name
    named = {k for k in KILLER.findall(text) if ":" in k or k.startswith("tests/")}
    for killer in sorted(named):
        if not killer_exists(tree, killer, known):
            yield "ARCHITECTURE.md: %s does not exist" % killer
    for mutant in sorted(models - named):
        yield "ARCHITECTURE.md: mutant %s is not named" % mutant


def lint(tree):
    return list(raw_operations(tree)) + list(table(tree))


def main():
    if len(sys.argv) != 2:
        print("usage: atomics.py TREE", file=sys.stderr)
        return 2
    found = lint(sys.argv[1])
    for line in found:
        print(line)
    print("%d operations, %d mutants, %d violations" %
          (len(operations(sys.argv[1])), len(mutants(sys.argv[1])), len(found)))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
