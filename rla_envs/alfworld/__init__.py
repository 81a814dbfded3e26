"""ALFWorld: household text games with an embedded engine, as Gymnasium environments.

Names are imported when first used, so that planners and task sets can import
``rla_envs.alfworld.engine`` without the environment that is built on them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .engine import Game, World, game_of, game_to_json, load_game, why_not
    from .engine.planner import expert_actions
    from .engine.textworld import RealWorld
    from .env import AlfWorldEnv

__all__ = [
    "AlfWorldEnv",
    "Game",
    "RealWorld",
    "World",
    "expert_actions",
    "game_of",
    "game_to_json",
    "load_game",
    "why_not",
]

_HOMES = {
    "AlfWorldEnv": ".env",
    "RealWorld": ".engine.textworld",
    "expert_actions": ".engine.planner",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, ".engine"), __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
