"""What models read and how their replies are understood: one module a domain."""

from rla_envs.prompts.parsing import parse_vote
from rla_envs.prompts.protocol import Prompts

__all__ = ["Prompts", "parse_vote"]
