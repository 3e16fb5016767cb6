"""Texts that the tests share."""

from __future__ import annotations

import random

CAT = "the cat sat on the mat all day long and slept"
CAT_AGAIN = "The cat sat on the mat, all day long, and slept!"
LONGER_CAT = CAT + " until the evening came"
OTHER = "something else entirely, as everybody can see at once"


def corpus(records: int, seed: int = 1) -> list[str]:
    """Random texts of forty words, every fifth a changed copy of an earlier one."""
    draw = random.Random(seed)
    texts: list[str] = []
    for _ in range(records):
        if texts and draw.random() < 0.2:
            words = draw.choice(texts).split()
            for _ in range(draw.randrange(4)):
                words[draw.randrange(len(words))] = f"w{draw.randrange(10_000)}"
        else:
            words = [f"w{draw.randrange(10_000)}" for _ in range(40)]
        texts.append(" ".join(words))
    return texts
