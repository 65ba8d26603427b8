#!/usr/bin/env python3
"""Prints the vectors of test-lab-seed.c, by the formulas in labgen/lab/seed.h.

ChaCha20 as its authors published it (64-bit nonce, 64-bit counter): the rounds
are those of RFC 8439, section 2.3; only the words 12 to 15 differ.
"""
import hashlib
import struct


def field(text):
    return struct.pack("<Q", len(text)) + text


def chacha20_block(key, counter, nonce):
    def rotate(x, n):
        return ((x << n) | (x >> (32 - n))) & 0xFFFFFFFF

    start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574]
    start += struct.unpack("<8I", key) + struct.unpack("<2I", struct.pack("<Q", counter))
    start += struct.unpack("<2I", nonce)
    s = list(start)

    def quarter(a, b, c, d):
        for x, y, z, n in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            s[x] = (s[x] + s[y]) & 0xFFFFFFFF
            s[z] = rotate(s[z] ^ s[x], n)

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(s, start)))


secret = hashlib.blake2b(b"a secret for the vectors", digest_size=32).digest()
h = hashlib.blake2b(key=secret, digest_size=32)
for text in (b"labgen-seed-1", b"percpu-kalloc", b"ada", b"bugs"):
    h.update(field(text))
key = h.digest()
stream = b"".join(chacha20_block(key, 0, struct.pack("<Q", n)) for n in range(2))
words = [w & 0x7FFFFFFF for w in struct.unpack("<32I", stream)]
print(", ".join(str(w) for w in words[:4] + words[14:18]))
print(hex(struct.unpack("<Q", hashlib.blake2b(b"kalloc", key=key, digest_size=32).digest()[:8])[0]))
