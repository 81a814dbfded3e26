"""What an agent can do on a desktop: one typed action, and the texts that stand for it.

Nothing an agent writes is executed: code is read as a syntax tree of which a few calls with plain
values are understood, tool calls are read as JSON.
"""

from rla_envs.osworld.actions.action import Action, Kind, NotUnderstood
from rla_envs.osworld.actions.parsing import Coordinates, parse

__all__ = ["Action", "Coordinates", "Kind", "NotUnderstood", "parse"]
