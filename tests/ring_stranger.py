#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A reader that was written from ringside-ring(5) alone and shares no line with the library.

ring_stranger.py RING: reads all that RING holds, resolves every reference, prints first, received, lost.
ring_stranger.py --follow RING: reads on, through every writer, until standard input names the last number."""
import os
import select
import struct
import sys
import time

class Corrupt(Exception): pass

def need(what, holds):
    if not holds:
        raise Corrupt(what)

class Ring:
    def __init__(self, path):
        self.path, self.fd = path, os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        f, st = os.pread(self.fd, 4096, 0), os.fstat(self.fd)
        magic, endian, major, _, header, self.shift, self.n, self.most = struct.unpack_from("<8sIHHIIII", f)
        self.data_off, self.data_bytes, self.dict_off, dict_bytes, size = struct.unpack_from("<5Q", f, 0x20)
        need("not a ring", (magic, endian, major, size) == (b"RINGSIDE", 0x01020304, 1, st.st_size))
        need("geometry", header >= 36864 and self.data_bytes == self.n << self.shift)
        need("geometry", self.most == (1 << self.shift) // 4 and not st.st_mode & 0o22)
        self.half, self.st, self.dict, self.past = dict_bytes // 2, st, b"", 0
    def word(self, at): return struct.unpack("<Q", os.pread(self.fd, 8, at))[0]
    def oldest(self, margin):
        intent = self.word(0x180)
        return 0 if intent < self.n else intent - (self.n - 1) + margin
    def replaced(self):  # a look at state and path, and only then at tail
        try:
            at_path = os.stat(self.path, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return (at_path.st_dev, at_path.st_ino) != (self.st.st_dev, self.st.st_ino)
    def chunk(self, pos):  # what is published of pos's block, with the dictionary; None: lapped
        tail, block = self.word(0x100), pos >> self.shift
        end = min(tail, (block + 1) << self.shift)
        if pos >= tail:
            return b""
        data = os.pread(self.fd, end - pos, self.data_off + (pos & self.data_bytes - 1))
        self.dict = os.pread(self.fd, 2 * self.half, self.dict_off)
        return data if self.word(0x180) - block < self.n else None  # after the copies
    def entry(self, word, ref, kind):
        half, life, at = word & 0xff, word >> 8, (word & 0xff) * self.half + ref * 16
        need("reference", half < 2 and ref * 16 + 16 <= self.half)
        length, got, generation = struct.unpack_from("<IB3xI", self.dict, at)
        need("entry", (got, generation) == (kind, life) and ref * 16 + 16 + length <= self.half)
        return self.dict[at + 16:at + 16 + length]
    def string(self, word, ref): return self.entry(word, ref, 1).decode() if ref else None
    def mapping(self, word, ref):
        path, build, start, end, offset, kind = struct.unpack("<IIQQQB7x", self.entry(word, ref, 2))
        return self.string(word, path), self.string(word, build), kind, start, end, offset
    def frame(self, word, ref):
        f = struct.unpack("<IIIIQQIBBH", self.entry(word, ref, 3))
        names = [self.string(word, x) for x in f[:3]]
        return (f[7], f[8] & 1, f[4], f[5], *names, f[6]), self.mapping(word, f[3]) if f[3] else None
    def units(self, word, ref, kind):
        data = self.entry(word, ref, kind)
        return struct.unpack("<%dI" % (len(data) // 4), data)
    def stack(self, word, ref): return [self.frame(word, x) for x in self.units(word, ref, 4)]
    def attribute(self, word, ref):
        key, kind, value = struct.unpack("<IB3xQ", self.entry(word, ref, 5))
        value = self.entry(word, value, 1) if kind in (1, 5, 6) else struct.pack("<Q", value)
        return self.string(word, key), kind, value
    def resource(self, word, ref):
        schema, *attributes = self.units(word, ref, 6)
        return self.string(word, schema), [self.attribute(word, x) for x in attributes]

class Reader:
    def __init__(self, path, pos_of):
        self.ring, self.next, self.received, self.lost, self.fresh = Ring(path), None, 0, 0, False
        self.pos = pos_of(self.ring) << self.ring.shift
    def skip(self, block): self.pos = block << self.ring.shift
    def records(self):  # to the end of what is published, then on to the file that took its place
        while True:
            ring, gone = self.ring, self.ring.replaced()
            data = ring.chunk(self.pos)
            if data is None:
                time.sleep(0.02)  # a test's machine has other things to do
                self.skip(max(ring.oldest(ring.n // 8), (self.pos >> ring.shift) + 1))
            elif data:
                yield from self.walk(data)
            elif not gone:
                return
            else:
                self.ring, self.fresh = Ring(ring.path), True
                os.close(ring.fd)
                self.skip(self.ring.oldest(self.ring.n // 8))
    def resolve(self, kind, payload):
        word, *refs = struct.unpack_from("<I28xIII" if kind == 1 else "<I24xI", payload, 28)
        for ref, look in zip(refs, (self.ring.resource, self.ring.stack, self.ring.stack)):
            if ref:
                look(word, ref)
    def walk(self, data):
        ring, at = self.ring, 0
        while at < len(data):
            length, kind, flags, seq, _ = struct.unpack_from("<IHHII", data, at)
            start, size = self.pos & (1 << ring.shift) - 1 == 0, (length + 31) // 16 * 16
            need("record", kind and size <= len(data) - at and start == (kind == 0xfffe))
            payload = data[at + 16:at + 16 + length]
            if kind == 0xfffe:
                block, first = struct.unpack_from("<QQ", payload)
                need("block", length == 48 and block == self.pos >> ring.shift)
                if self.next is None or self.fresh and first < self.next:
                    self.next = first
                need("number of a block", first >= self.next)
                self.lost, self.next, self.fresh = self.lost + first - self.next, first, False
            elif kind != 0xffff:
                need("number", seq == self.next & 0xffffffff and 32 <= length <= ring.most)
                yield self.next, kind, flags, payload
                self.next, self.received = self.next + 1, self.received + 1
            self.pos, at = self.pos + size, at + size

def main():
    follow = sys.argv[1] == "--follow"
    reader, final = Reader(sys.argv[-1], lambda ring: ring.oldest(0)), None
    print("ready", flush=True)
    while True:
        for _, kind, _, payload in reader.records():
            if kind in (1, 2):
                reader.resolve(kind, payload)
        if not follow or final is not None and reader.next is not None and reader.next > final:
            break
        if final is None and select.select([sys.stdin], [], [], 0.02)[0]:
            final = int(sys.stdin.readline() or sys.exit("nobody named the last number"))
    print(reader.next - reader.received - reader.lost, reader.received, reader.lost)

if __name__ == "__main__":
    main()
