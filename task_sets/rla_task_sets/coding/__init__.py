"""Programming problems: generated from a seed, or published sets read from a local path."""

from .generated import generate
from .rewrites import check_rewrite
from .writing import write_problems

__all__ = ["check_rewrite", "generate", "write_problems"]
