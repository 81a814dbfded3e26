"""The embedded ALFWorld engine: official games in plain Python, equal to TextWorld to the letter.

Nothing here needs TextWorld, a PDDL planner or a compiler. ``textworld.RealWorld`` runs the real
engine behind the same methods, for comparison and for games with a grammar of their own.
"""

from __future__ import annotations

from .game import Game, game_from_json, game_of, game_to_json, load_game
from .grammar import name_entities
from .payload import scene_from_payload, scene_to_payload
from .reasons import why_not
from .scene import Goal, Item, ItemState, Receptacle, Scene, TaskType
from .world import World

__all__ = [
    "Game",
    "Goal",
    "Item",
    "ItemState",
    "Receptacle",
    "Scene",
    "TaskType",
    "World",
    "game_from_json",
    "game_of",
    "game_to_json",
    "load_game",
    "name_entities",
    "scene_from_payload",
    "scene_to_payload",
    "why_not",
]
