"""Desktops: one protocol, and the kinds that are built in."""

from __future__ import annotations

from rla_envs.errors import ConfigError
from rla_envs.osworld.desktop.protocol import Desktop, Node, Tree

__all__ = ["Desktop", "Node", "Tree", "make_desktop"]

KINDS = ("local",)


def make_desktop(
    kind: str, *, size: tuple[int, int] = (1280, 720), network: bool = False
) -> Desktop:
    """Return a desktop that is not started yet.

    Args:
        kind: "local": namespaces on this machine.
        size: Width and height of the screen, in pixels.
        network: Whether its applications may reach the network.

    Raises:
        ConfigError: there is no such kind.
    """
    if kind == "local":
        from rla_envs.osworld.desktop.local import LocalDesktop

        return LocalDesktop(size, network=network)
    raise ConfigError(f"desktop must be one of {KINDS} or an object with its methods, got {kind!r}")
