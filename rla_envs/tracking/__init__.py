"""What a run leaves behind: its folder, metrics, trajectories; and how progress is shown."""

from rla_envs.tracking.metrics import METRICS, Metric, Metrics, read_metrics
from rla_envs.tracking.progress import NoProgress, Progress, make_progress
from rla_envs.tracking.run_folder import RunFolder
from rla_envs.tracking.trajectories import StepRecord, TrajectoryRecord

__all__ = [
    "METRICS",
    "Metric",
    "Metrics",
    "NoProgress",
    "Progress",
    "RunFolder",
    "StepRecord",
    "TrajectoryRecord",
    "make_progress",
    "read_metrics",
]
