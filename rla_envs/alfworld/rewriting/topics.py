"""What errors are about: from rationales of negative votes to topics that transforms answer."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rla_envs.alfworld.rewriting.transform import Topic

_SPOKEN: tuple[tuple[Topic, str], ...] = (
    ("progress", r"nothing happen|not possible|inadmissible|invalid|wastes? |no-?op"),
    ("change", r"forgets? to change|changes? the wrong|\b(clean|heat|cool|hot|cold|wash)"),
    ("thing", r"(wrong|irrelevant) (thing|object|item)|\b(take|takes|taking|picks?|picking)\b"),
    ("place", r"wrong (place|receptacle|destination)|\b(put|puts|drops?|places)\b|away from"),
    ("search", r"search|look|explor|visit|open|clos|old place|already (seen|checked|been)|find"),
)
"""Topic -> what its rationales say; the first that matches counts."""


def topic_of(rationale: str) -> Topic | None:
    """Return what a rationale is about; None if it says nothing that a rewrite could answer."""
    text = rationale.lower()
    return next((topic for topic, said in _SPOKEN if re.search(said, text)), None)


def topic_shares(reasons: Mapping[str, int]) -> dict[Topic, float]:
    """Return the share of negative votes about each topic; the shares add up to 1, if any."""
    votes: dict[Topic, int] = {}
    for rationale, number in reasons.items():
        topic = topic_of(rationale)
        if topic is not None:
            votes[topic] = votes.get(topic, 0) + number
    total = sum(votes.values())
    return {topic: number / total for topic, number in votes.items()}


def main_reason(reasons: Mapping[str, int], topics: frozenset[Topic]) -> str:
    """Return the most frequent rationale about one of topics, with its votes."""
    about = {why: n for why, n in reasons.items() if topic_of(why) in topics}
    if not about:
        return "no error points at it"
    why = max(about, key=lambda key: (about[key], key))
    return f"{why} ({about[why]} of {sum(reasons.values())} negative votes)"
