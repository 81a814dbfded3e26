"""Environments, models and sandboxes as Ray actors, behind the same protocols as in one process."""

from rla_adapters.ray_workers.cluster import connect
from rla_adapters.ray_workers.model import RayModel, SyncedTrainer, spread
from rla_adapters.ray_workers.pool import RayPool
from rla_adapters.ray_workers.sandbox import RaySandbox

__all__ = ["RayModel", "RayPool", "RaySandbox", "SyncedTrainer", "connect", "spread"]
