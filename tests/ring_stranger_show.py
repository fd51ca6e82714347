#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ring_stranger_show.py RING: what tests/ring_stranger.py reads, printed as tests/ring_dump prints what the
library reads.  Self-contained parts are taken apart here, also from ringside-ring(5) alone."""
import struct
import sys

import ring_stranger

KINDS = {1: "sample", 2: "process", 0xfffb: "lost", 0xfffc: "clock", 0xfffd: "incarnation"}


class Bytes:
    """A payload, read from the front; everything self-contained is aligned to 4."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        ring_stranger.need("payload too short", n <= len(self.data) - self.at)
        self.at += n
        return self.data[self.at - n:self.at]

    def get(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))

    def align(self):
        self.take(-self.at % 4)

    def text(self, n):
        return self.take(n).decode() if n else None


def inline_attribute(ring, word, p):
    key, key_len, kind, _, value_len = p.get("IHBBI")
    name = p.text(key_len) if key_len else ring.string(word, key)
    value = p.take(value_len)
    p.align()
    return name, kind, value


def inline_resource(ring, word, p):
    n, schema_len = p.get("II")
    schema = p.text(schema_len)
    p.align()
    return schema, [inline_attribute(ring, word, p) for _ in range(n)]


def inline_stack(p):
    n, nmappings = p.get("HH")
    mappings, frames = [], []
    for _ in range(nmappings):
        start, end, offset, path_len, build_len, kind = p.get("QQQHBB")
        mappings.append((p.text(path_len), p.text(build_len), kind, start, end, offset))
        p.align()
    for _ in range(n):
        address, offset, line, m, a, b, c, kind, flags, _ = p.get("QQIHHHHBBH")
        names = [p.text(x) for x in (a, b, c)]
        p.align()
        frames.append(((kind, flags & 1, address, offset, *names, line),
                       mappings[m] if m != 0xffff else None))
    return frames


def show_attributes(attributes):
    out = ""
    for key, kind, value in attributes:
        if kind in (2, 3):
            text = "%d" % struct.unpack("<q", value)
        elif kind == 4:
            text = "%.2f" % struct.unpack("<d", value)
        else:
            text = value.hex()
        out += " %s:%d:%s" % (key, kind, text)
    return out


def show_stack(frames):
    out = ""
    for f, m in frames:
        names = [x or "-" for x in f[4:7]]
        out += " %d/%d/%x/%d/%s/%s/%s/%d" % (*f[:4], *names, f[7])
        if m:
            out += "/%s/%s/%d/%x/%x/%x" % (m[0] or "-", m[1] or "-", *m[2:])
    return out


def show_sample(ring, word, flags, p):
    start, weight, pid, tid, cpu, resource, kernel, user, comm = p.get("QQIIIIII16s")
    event, unit, ends, _, trace_flags, _, nattributes = p.get("BBBBBBH")
    out = " pid %d tid %d cpu %d start %d weight %d comm %s event %d unit %d ends %d %d" % (
        pid, tid, cpu, start, weight, comm.split(b"\0")[0].decode(), event, unit, ends & 15, ends >> 4)
    if flags & 2:
        trace, span = p.take(16), p.take(8)
        out += " link %02x%02x %02x%02x %d" % (trace[0], trace[15], span[0], span[7], trace_flags)
    schema, attributes = None, []
    if flags & 4:
        schema, attributes = inline_resource(ring, word, p)
    elif resource:
        schema, attributes = ring.resource(word, resource)
    out += " resource %s%s" % (schema or "-", show_attributes(attributes))
    for name, flag, ref in ("kernel", 8, kernel), ("user", 16, user):
        out += " " + name
        out += show_stack(inline_stack(p) if flags & flag else ring.stack(word, ref) if ref else [])
    own = [inline_attribute(ring, word, p) for _ in range(nattributes)]
    return out + " attributes" + show_attributes(own)


def show(ring, number, kind, flags, payload):
    p = Bytes(payload)
    boot, real, error, epoch, u = p.get("QqQII")
    out = "%d %s %d %d %d %d" % (number, KINDS[kind], real, boot, epoch, error)
    if kind == 1:
        return out + show_sample(ring, u, flags, p)
    if kind == 2:
        _, pid, parent, code, signal, _, action, _, length, comm = p.get("QIIIIIBBH16s")
        return out + " %d %d %d %d %d %s %s" % (pid, parent, code, signal, action,
                                                comm.split(b"\0")[0].decode(), p.text(length) or "-")
    if kind == 0xfffc:
        return out + " %d %d %d" % (*p.get("qq"), u)
    if kind == 0xfffb:
        return out + " %d %d" % (*p.get("Q"), u)
    return out + " %d %d" % (u, *p.get("I"))


def main():
    reader = ring_stranger.Reader(sys.argv[1], lambda ring: ring.oldest(0))
    for record in reader.records():
        print(show(reader.ring, *record))


main()
