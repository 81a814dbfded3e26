"""Running many episodes at once: environments in processes, one batched model for all of them."""

from rla_envs.rollout.collect import collect
from rla_envs.rollout.pool import EnvPool, EnvSpec, LocalPool, ProcessPool, make_pool
from rla_envs.rollout.stopwatch import Stopwatch

__all__ = ["EnvPool", "EnvSpec", "LocalPool", "ProcessPool", "Stopwatch", "collect", "make_pool"]
