"""ALFWorld games: official ones, and our own from a seed."""

from __future__ import annotations

from .generated import generate
from .official import OfficialTasks, load_official
from .writing import write_games

__all__ = ["OfficialTasks", "generate", "load_official", "write_games"]
