#!/usr/bin/env python3
"""The sketch of docs/sketch.md in plain Python: a second implementation that the golden vectors are held against.

    python3 docs/sketch_reference.py docs/sketch.md

Elements are made from ASCII texts cut into words or characters with the default normalisation; slots and band keys
are made from the elements of every vector. What needs XXH3 (items, lines, fingerprints) is left out.
"""

import json
import re
import sys

MASK = 2**64 - 1
K0, K1, K2 = 0x243F6A8885A308D3, 0x13198A2E03707345, 0xA4093822299F31D1
K3, K4, ROLL = 0x082EFA98EC4E6C89, 0x452821E638D01377, 0xBE5466CF34E90C6B


def fold(left, right):
    product = left * right
    return (product ^ product >> 64) & MASK


def hash_word(word):
    state = K0
    for at in range(0, len(word), 16):
        block = word[at : at + 16].ljust(16, b"\0")
        low, high = int.from_bytes(block[:8], "little"), int.from_bytes(block[8:], "little")
        state = fold(low ^ state, high ^ K1)
    return state


def tokens(kind, text):
    if kind == "words":
        return [hash_word(word.encode()) for word in re.findall(r"[a-z0-9_]+", text.lower())]
    return [fold(ord(character) ^ K0, K1) for character in re.sub(r"[\t-\r ]+", " ", text).strip(" ")]


def elements(shingles, bag, text):
    kind, k, step = re.fullmatch(r"(\w+):(\d+)(?:/(\d+))?", shingles).groups()
    k, step, hashes = int(k), int(step or 1), tokens(kind, text)
    found, start = [], 0
    while start < len(hashes):
        state = 0
        for token in hashes[start : start + k]:
            state = (state * ROLL + token) & MASK
        found.append(fold(state ^ K2, K3))
        if start + k >= len(hashes):
            break
        start += step
    if bag:
        times = [found[: at + 1].count(shingle) for at, shingle in enumerate(found)]
        found = [h if n == 1 else fold(h ^ K4, n * K3 & MASK | 1) for h, n in zip(found, times)]
    return sorted(set(found))


def split_mix(state):
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        word = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & MASK
        word = (word ^ word >> 27) * 0x94D049BB133111EB & MASK
        yield word ^ word >> 31


def sketch(elements, slots, seed):
    words, sketch = split_mix(seed), [2**32 - 1] * slots
    multiplier = next(words) | 1
    for element in elements:
        word = element * multiplier & MASK
        slot = (word >> 32) * slots >> 32
        sketch[slot] = min(sketch[slot], (word & 0xFFFFFFFF) >> 1)
    for slot, word in zip(range(slots), words):
        if elements and sketch[slot] == 2**32 - 1:
            multiplier = word & 0xFFFFFFFF | 1
            sketch[slot] = 2**31 | min(multiplier * (e >> 32) % 2**32 for e in elements) >> 1
    return sketch


def band_keys(sketch, bands, seed, within=0):
    random, count, rows = re.fullmatch(r"(random:)?(\d+)x(\d+)", bands).groups()
    count, rows, words = int(count), int(rows), split_mix(seed ^ 0x6B6579736F663132)
    for band in range(count):
        chosen = set() if random else range(band * rows, (band + 1) * rows)
        while len(chosen) < rows:
            chosen.add(next(words) * len(sketch) >> 64)
        state = fold(within ^ K4, band * K2 & MASK | 1) ^ K2
        slots = [sketch[slot] for slot in sorted(chosen)] + [0]
        for at in range(0, rows, 2):
            state = (fold(state ^ slots[at] ^ slots[at + 1] << 32, K3) + K1) & MASK
        yield fold(state ^ K0, K1)


def main(path):
    from_text = 0
    vectors = [json.loads(line) for line in open(path, encoding="utf-8") if line.startswith('{"shingles"')]
    for vector in vectors:
        known, text = [int(element, 16) for element in vector["elements"]], vector.get("text", "é")
        if text.isascii() and vector["shingles"] != "lines" and "normalize" not in vector:
            assert elements(vector["shingles"], vector["bag"], text) == known, vector
            from_text += 1
        assert sketch(known, len(vector["slots"]), vector["seed"]) == vector["slots"], vector
        keys = [f"{key:016x}" for key in band_keys(vector["slots"], vector["bands"], vector["seed"])]
        assert keys == vector["keys"], vector
    print(f"{len(vectors)} sketches agree, {from_text} of them from the text")


if __name__ == "__main__":
    main(sys.argv[1])
