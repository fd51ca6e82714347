#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lint.py TREE: the rules of the house that a compiler does not check.

Prints "FILE:LINE: what; why" for each violation and exits 1 when there is one.
tests/lint/selftest.py plants a violation of every rule and sees that it is caught.
"""
import os
import re
import sys

FOLDERS = ["shm", "bpf", "ctx", "sidecar", "client", "tests", "bench"]
TOP_FILES = ["configure.ac", "Makefile.am", "autogen.sh", "quickstart", ".ci/run"]
MAX_LINES = 600
MAX_FUNCTION = 120

# Stages in the order of the data path.  A stage sees itself and what comes before it.  loop is what
# all of them wait in, so it comes first and sees none of them.  labels and
# context are pure functions over bytes, which process calls when it has read some.
STAGES = ["loop", "collect", "clock", "labels", "context", "process", "symbols", "publish"]
# Files directly in sidecar/ that put the stages together.
SEES_ALL_STAGES = re.compile(r"^sidecar/(main|pipeline)\w*\.[ch]$")

# Headers of libraries beside libc, by how they start.
LIBRARIES = ("bpf/", "liburing", "libelf", "gelf", "elfutils/", "dwarf", "check.h", "sys/capability",
             "seccomp", "yaml", "jansson", "pcre2", "md5.h", "sha", "xxhash", "zlib", "lzma",
             "libiberty/", "demangle", "curl/", "microhttpd", "ncurses", "systemd/")
# What a folder may use of them.
LIBRARIES_OF = {
    "shm": (),
    "ctx": (),
    "client": ("curl/", "microhttpd", "jansson", "ncurses", "zlib"),
}
BPF_SYSTEM = re.compile(r"^(bpf/bpf_\w+\.h|linux/[\w/]+\.h|asm/\w+\.h|stddef\.h|stdbool\.h|stdint\.h)$")

BANNED = {
    "strcpy": "no bound; use memcpy or snprintf with a checked length",
    "strcat": "no bound; use snprintf",
    "sprintf": "no bound; use snprintf",
    "vsprintf": "no bound; use vsnprintf",
    "gets": "no bound; use fgets",
    "atoi": "cannot fail; use strtol and check",
    "atol": "cannot fail; use strtol and check",
}
BANNED_CALL = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
UNFINISHED = re.compile(r"\b(" + "TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
# Papers that whoever has only this tree cannot read.
ELSEWHERE = re.compile(r"\b(DES" + r"IGN|INTER" + r"FACES)\b|\bfacts/")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)


def blank(text):
    """text without comments and literals, with the same lines."""
    return TOKEN.sub(lambda m: "\n" * m.group(0).count("\n") or " ", text)


def stage_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "sidecar" and len(parts) > 2 else None


def sidecar_include(path, target):
    """Why path, in sidecar/, may not include target; None when it may."""
    if target.startswith("shm/"):
        if target in ("shm/ring_writer.h", "shm/ringside.h"):
            return None
        return "sidecar/ sees only ring_writer.h and ringside.h of shm/"
    if target.startswith("bpf/"):
        if target == "bpf/event.h":
            return None
        if target == "bpf/ringside.skel.h" and stage_of(path) == "collect":
            return None
        return "sidecar/ sees only event.h of bpf/ (sidecar/collect/ the skeleton too)"
    if target == "ctx/otel_ctx_abi.h":
        return None
    if not target.startswith("sidecar/"):
        return "sidecar/ does not see this folder"
    mine, theirs = stage_of(path), stage_of(target)
    if SEES_ALL_STAGES.match(path):
        return None
    if theirs is None:
        if SEES_ALL_STAGES.match(target):
            return "nothing knows the pipeline, which sees all stages"
        return None
    if mine is None:
        # The configuration holds rules for labels, checked by the very code that runs them.
        return None if theirs in ("loop", "labels") else "only main and pipeline see the stages"
    if theirs not in STAGES or mine not in STAGES:
        return "unknown stage: name it in tests/lint/lint.py, in the order of the data path"
    if STAGES.index(theirs) > STAGES.index(mine):
        return "stage %s may not know the later stage %s" % (mine, theirs)
    return None


def quoted_include(path, target):
    """Why path may not include "target"; None when it may."""
    folder = path.split("/")[0]
    if "/" not in target:
        return "includes are written from the top of the tree"
    if folder == "shm":
        return None if target.startswith("shm/") else "shm/ knows libc only"
    if folder == "ctx":
        return None if target.startswith("ctx/") else "ctx/ knows libc only"
    if folder == "client":
        if target.startswith("client/") or target == "shm/ringside.h":
            return None
        return "client/ sees only shm/ringside.h of the other folders"
    if folder == "bpf":
        if target.startswith("bpf/") or target == "ctx/otel_ctx_abi.h":
            return None
        return "bpf/ sees only itself"
    if folder == "sidecar":
        return sidecar_include(path, target)
    return None         # tests/ and bench/ may see everything


def system_include(path, target):
    folder = path.split("/")[0]
    if folder == "bpf" and path.endswith(".bpf.c") and not BPF_SYSTEM.match(target):
        return "nothing from libc in bpf/"
    if folder in LIBRARIES_OF and target.startswith(LIBRARIES):
        if not target.startswith(LIBRARIES_OF[folder] or ("\0",)):
            return "%s/ does not use this library" % folder
    return None


def check_includes(path, lines, say):
    for n, line in enumerate(lines, 1):
        m = INCLUDE.match(line)
        if not m:
            continue
        why = (quoted_include if m.group(1) == '"' else system_include)(path, m.group(2))
        if why:
            say(n, "includes %s; %s" % (m.group(2), why))


def check_functions(code, say):
    start = None
    for n, line in enumerate(code.split("\n"), 1):
        if line.startswith("{"):
            start = n
        elif line.startswith("}") and start:
            if n - start - 1 > MAX_FUNCTION:
                say(start, "function of %d lines; the limit is %d" % (n - start - 1, MAX_FUNCTION))
            start = None


def check_c(path, text, say):
    lines = text.split("\n")
    code = blank(text)
    check_includes(path, lines, say)
    check_functions(code, say)
    if text.count("\n") >= MAX_LINES:
        say(MAX_LINES, "file of %d lines; the limit is %d" % (text.count("\n"), MAX_LINES - 1))
    for n, line in enumerate(code.split("\n"), 1):
        m = BANNED_CALL.search(line)
        if m:
            say(n, "%s(); %s" % (m.group(1), BANNED[m.group(1)]))
        if path.startswith("shm/") and re.search(r"FUTEX_\w*PRIVATE|FUTEX_PRIVATE", line):
            say(n, "private futex; the waiter is another process")


def check_text(path, text, say):
    lines = text.split("\n")
    if not any("SPDX-License-Identifier:" in line for line in lines[:3]):
        say(1, "no SPDX-License-Identifier in the first three lines")
    for n, line in enumerate(lines, 1):
        if UNFINISHED.search(line):
            say(n, "unfinished work marked; finish it or say in the report what is missing")
        if ELSEWHERE.search(line):
            say(n, "refers to a paper that is not in the tree; say it here, or name a page of man/")
        if line != line.rstrip():
            say(n, "blanks at the end of the line")
        if not line.isascii():
            say(n, "not ASCII")


def is_source(path):
    if "/corpus/" in path or "/golden/" in path or "/cases/" in path or "/__pycache__/" in path:
        return False
    name = os.path.basename(path)
    if name.endswith((".c", ".h", ".py", ".sh", ".am", ".ac", ".map")):
        return True
    return "." not in name


def files_of(tree):
    for folder in FOLDERS:
        for where, _, names in os.walk(os.path.join(tree, folder)):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(where, name), tree)
                if is_source(path) and not path.endswith(".skel.h"):
                    yield path
    for path in TOP_FILES:
        if os.path.exists(os.path.join(tree, path)):
            yield path


def is_binary(raw):
    return b"\0" in raw[:4096]


def lint(tree):
    found = []
    for path in files_of(tree):
        with open(os.path.join(tree, path), "rb") as f:
            raw = f.read()
        if is_binary(raw):
            continue
        text = raw.decode("utf-8", "replace")

        def say(line, what, path=path):
            found.append("%s:%d: %s" % (path, line, what))
        check_text(path, text, say)
        if path.endswith((".c", ".h")):
            check_c(path, text, say)
    return found


def main():
    if len(sys.argv) != 2:
        print("usage: lint.py TREE", file=sys.stderr)
        return 2
    found = lint(sys.argv[1])
    for line in found:
        print(line)
    print("%d violations" % len(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
