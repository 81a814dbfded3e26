"""Tasks that follow the policy: rewrites are tried, accepted on evidence, and taken back."""

from rla_envs.curriculum.acceptance import AcceptanceConfig, Block, Decision, decide, evidence
from rla_envs.curriculum.config import REJECTIONS, AdaptReport, CurriculumConfig, Draw
from rla_envs.curriculum.curriculum import Check, Curriculum
from rla_envs.curriculum.store import Store
from rla_envs.curriculum.summary import summarise

__all__ = [
    "REJECTIONS",
    "AcceptanceConfig",
    "AdaptReport",
    "Block",
    "Check",
    "Curriculum",
    "CurriculumConfig",
    "Decision",
    "Draw",
    "Store",
    "decide",
    "evidence",
    "summarise",
]
