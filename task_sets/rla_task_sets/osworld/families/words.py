"""Words of generated desktop tasks; the last third of each list is valid_unseen's alone."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

THINGS = (
    *("milk", "bread", "apples", "cheese", "rice", "coffee", "soap", "paper"),
    *("honey", "pears", "flour", "candles"),
)
VERBS = ("buy", "order", "return", "count", "label", "store")
FILES = ("notes", "list", "plan", "draft", "memo", "report", "diary", "agenda", "ideas")
FOLDERS = ("alpha", "beta", "gamma", "delta", "sigma", "omega", "kappa", "lambda", "theta")
NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gwen", "Hugo", "Iris", "Jon", "Kim", "Leo")
CITIES = ("Oslo", "Rome", "Lima", "Cairo", "Quito", "Paris", "Delhi", "Seoul", "Accra")
COLUMNS = ("Price", "Score", "Weight", "Stock", "Hours", "Points", "Length", "Budget", "Visits")
TOPICS = ("Garden", "Budget", "Travel", "Music", "Health", "Energy", "Harbour", "Winter", "Market")


def pool(words: Sequence[str], split: str) -> Sequence[str]:
    """Return the words of a split: the last third is valid_unseen's alone."""
    cut = len(words) - len(words) // 3
    return words[cut:] if split == "valid_unseen" else words[:cut]


def pick(rng: Random, words: Sequence[str], split: str, count: int) -> list[str]:
    """Return different words of a split, in random order."""
    return rng.sample(pool(words, split), count)
