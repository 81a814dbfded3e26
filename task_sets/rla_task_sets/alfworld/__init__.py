"""ALFWorld games: official ones, and our own from a seed."""

from __future__ import annotations

from .generated import generate

__all__ = ["generate"]
