#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ring_stranger.py RING: a reader of a ring at rest, written from ringside-ring(5) alone.

It shares no line with the library.  Prints what tests/ring_dump prints, so that the page and the
code cannot part.
"""
import struct
import sys

KINDS = {1: "sample", 2: "process", 0xfffb: "lost", 0xfffc: "clock", 0xfffd: "incarnation"}


def fail(what):
    sys.exit("ring_stranger: " + what)


class Bytes:
    """A payload, read from the front; everything self-contained is aligned to 4."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        if n > len(self.data) - self.at:
            fail("payload too short")
        self.at += n
        return self.data[self.at - n:self.at]

    def get(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))

    def align(self):
        self.take(-self.at % 4)

    def text(self, n):
        return self.take(n).decode() if n else None


class Ring:
    def __init__(self, path):
        self.f = f = open(path, "rb").read()
        magic, endian, major, _, header, shift, n, most = struct.unpack_from("<8sIHHIIII", f, 0)
        self.data_off, self.data_bytes, self.dict_off, dict_bytes, size = struct.unpack_from("<5Q", f, 0x20)
        if magic != b"RINGSIDE" or endian != 0x01020304 or major != 1 or size != len(f):
            fail("not a ring")
        if header < 36864 or self.data_bytes != n << shift or most != (1 << shift) // 4:
            fail("geometry")
        self.shift, self.n, self.most, self.half = shift, n, most, dict_bytes // 2
        self.tail, = struct.unpack_from("<Q", f, 0x100)
        self.intent, = struct.unpack_from("<Q", f, 0x180)

    def record(self, pos):
        at = self.data_off + (pos & (self.data_bytes - 1))
        length, kind, flags, seq, _ = struct.unpack_from("<IHHII", self.f, at)
        return length, kind, flags, seq, self.f[at + 16:at + 16 + length]

    def records(self):
        block = max(0, self.intent - (self.n - 1))
        pos = block << self.shift
        number = None
        while pos < self.tail:
            start = pos & ((1 << self.shift) - 1) == 0
            length, kind, flags, seq, payload = self.record(pos)
            if kind == 0 or start != (kind == 0xfffe):
                fail("record at %d" % pos)
            if kind == 0xfffe:
                block_no, first = struct.unpack_from("<QQ", payload)
                if length != 48 or block_no != pos >> self.shift or number not in (None, first):
                    fail("block at %d" % pos)
                number = first
            elif kind != 0xffff:
                if seq != number & 0xffffffff or not 32 <= length <= self.most:
                    fail("number at %d" % pos)
                yield number, kind, flags, payload
                number += 1
            pos += (16 + length + 15) // 16 * 16

    def entry(self, word, ref, kind):
        half, generation = word & 0xff, word >> 8
        at = self.dict_off + half * self.half + ref * 16
        if half > 1 or ref * 16 + 16 > self.half:
            fail("reference")
        length, got, life = struct.unpack_from("<IB3xI", self.f, at)
        if got != kind or life != generation or ref * 16 + 16 + length > self.half:
            fail("entry of kind %d, wanted %d" % (got, kind))
        return self.f[at + 16:at + 16 + length]

    def string(self, word, ref):
        return self.entry(word, ref, 1).decode() if ref else None

    def mapping(self, word, ref):
        path, build, start, end, offset, kind = struct.unpack("<IIQQQB7x", self.entry(word, ref, 2))
        return self.string(word, path), self.string(word, build), kind, start, end, offset

    def frame(self, word, ref):
        f = struct.unpack("<IIIIQQIBBH", self.entry(word, ref, 3))
        names = [self.string(word, x) for x in f[:3]]
        return (f[7], f[8] & 1, f[4], f[5], *names, f[6]), self.mapping(word, f[3]) if f[3] else None

    def stack(self, word, ref):
        data = self.entry(word, ref, 4)
        return [self.frame(word, x) for x in struct.unpack("<%dI" % (len(data) // 4), data)]

    def attribute(self, word, ref):
        key, kind, value = struct.unpack("<IB3xQ", self.entry(word, ref, 5))
        if kind in (1, 5, 6):
            return self.string(word, key), kind, self.entry(word, value, 1)
        return self.string(word, key), kind, struct.pack("<Q", value)

    def resource(self, word, ref):
        data = self.entry(word, ref, 6)
        refs = struct.unpack("<%dI" % (len(data) // 4), data)
        return self.string(word, refs[0]), [self.attribute(word, x) for x in refs[1:]]


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
    ring = Ring(sys.argv[1])
    for record in ring.records():
        print(show(ring, *record))


main()
