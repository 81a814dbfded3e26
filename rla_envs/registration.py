"""Gymnasium ids of this package; entry points are strings, so registering imports nothing."""

from __future__ import annotations

from types import MappingProxyType

import gymnasium

ENTRY_POINTS = MappingProxyType(
    {
        "rla/AlfWorld-v0": "rla_envs.alfworld.env:AlfWorldEnv",
        "rla/AlfWorld-Adaptive-v0": "rla_envs.alfworld.adaptive:AdaptiveAlfWorldEnv",
        "rla/Coding-v0": "rla_envs.coding.env:CodingEnv",
        "rla/Coding-Adaptive-v0": "rla_envs.coding.adaptive:AdaptiveCodingEnv",
        "rla/OSWorld-v0": "rla_envs.osworld.env:OSWorldEnv",
        "rla/OSWorld-Adaptive-v0": "rla_envs.osworld.adaptive:AdaptiveOSWorldEnv",
    }
)
"""Registered id -> entry point."""


def register_envs() -> None:
    """Register every id of this package with Gymnasium; calling it again changes nothing."""
    for env_id, entry_point in ENTRY_POINTS.items():
        if env_id not in gymnasium.registry:
            # No max_episode_steps: Gymnasium's TimeLimit would lie outside our wrappers and hide
            # truncation from them, so environments count their own steps (max_steps=).
            gymnasium.register(  # pyright: ignore[reportUnknownMemberType]
                env_id, entry_point=entry_point
            )


def registered_ids() -> tuple[str, ...]:
    """Return the ids of this package, in order of registration."""
    return tuple(ENTRY_POINTS)
