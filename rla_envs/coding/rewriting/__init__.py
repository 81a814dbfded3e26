"""Rewrites of programming problems: each carries a reference program and tests that can fail."""

from rla_envs.coding.rewriting.llm import LLMRewriter
from rla_envs.coding.rewriting.rules import RuleRewriter

__all__ = ["LLMRewriter", "RuleRewriter"]
