"""Desktops: one protocol, and the kinds that are built in."""

from __future__ import annotations

from rla_envs.osworld.desktop.protocol import Desktop, Node, Tree

__all__ = ["Desktop", "Node", "Tree"]
