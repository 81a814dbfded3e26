"""Wrappers around the environments of this package; each does one thing."""

from rla_envs.wrappers.adaptive_tasks import AdaptiveTasks
from rla_envs.wrappers.record_trajectory import RecordTrajectory
from rla_envs.wrappers.step_votes import StepVotes

__all__ = ["AdaptiveTasks", "RecordTrajectory", "StepVotes"]
