"""Rewrites of ALFWorld games: transforms that keep a game solvable and its sentence true."""

from rla_envs.alfworld.rewriting.edits import TRANSFORMS, Edit, edited, edits_of, rewritten
from rla_envs.alfworld.rewriting.llm import LLMRewriter
from rla_envs.alfworld.rewriting.rules import RuleRewriter
from rla_envs.alfworld.rewriting.transform import Topic, Transform

__all__ = [
    "TRANSFORMS",
    "Edit",
    "LLMRewriter",
    "RuleRewriter",
    "Topic",
    "Transform",
    "edited",
    "edits_of",
    "rewritten",
]
