"""What every transform is: a name, a direction, what it is good against, and two pure functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rla_envs.alfworld.engine import Scene
from rla_envs.types import Direction

Topic = Literal["search", "thing", "place", "change", "progress"]
"""What an error is about: finding it, taking the right thing, putting it down where it belongs,
changing its state, or getting anywhere at all."""

Args = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """One way to change a game.

    Attributes:
        name: How it is called in records and by an LLM.
        direction: Which way it should change the difficulty; a trial measures whether it does.
        topics: What errors it makes likelier (harder) or spares (easier).
        help: What it does, for an LLM's prompt; names its arguments in capitals.
        options: Scene -> every argument tuple that applies; empty when the transform does not.
        apply: (scene, one of its options) -> the changed scene. Goal and instruction change
            together.
    """

    name: str
    direction: Direction
    topics: frozenset[Topic]
    help: str
    options: Callable[[Scene], Sequence[Args]]
    apply: Callable[[Scene, Args], Scene]
