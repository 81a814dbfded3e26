"""Tasks as data."""

from __future__ import annotations

from .registry import load, names

__all__ = ["load", "names"]
