"""Collections of texts with near-duplicates, made from a seed."""

from __future__ import annotations

import random


def mixed(records: int, seed: int = 1, words: int = 60) -> list[str]:
    """Texts of which a third is a copy of an earlier one, exact or with some words changed."""
    chance = random.Random(seed)
    texts: list[list[str]] = []
    for _ in range(records):
        kind = chance.random()
        if texts and kind < 0.1:
            text = list(chance.choice(texts))
        elif texts and kind < 0.33:
            text = list(chance.choice(texts))
            for _ in range(chance.choice([1, 1, 2, 3, 6])):
                text[chance.randrange(len(text))] = f"w{chance.randrange(5000)}"
        else:
            text = [f"w{chance.randrange(5000)}" for _ in range(chance.randrange(words // 2, words * 2))]
        texts.append(text)
    return [" ".join(text) for text in texts]


def chain(length: int) -> list[str]:
    """Texts each of which is alike to the next and the one before, and to no others but their neighbours."""
    words = [f"w{at}" for at in range(length + 40)]
    return [" ".join(words[at : at + 40]) for at in range(length)]
