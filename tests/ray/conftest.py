"""Two simulated nodes of one CPU each on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

if find_spec("ray") is None and os.environ.get("CI") != "true":
    pytest.skip("needs pip install 'rla-envs[ray,train]'", allow_module_level=True)

NODE = {"num_cpus": 1, "object_store_memory": 100_000_000}


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Return a cluster that this process has joined."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # A busy machine takes longer to start a node than Ray waits by itself.
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "300")
    import ray
    from ray.cluster_utils import Cluster
    from rla_adapters.ray_workers import connect

    cluster = Cluster(initialize_head=True, head_node_args={"include_dashboard": False, **NODE})
    cluster.add_node(**NODE)
    cluster.wait_for_nodes()
    connect(cluster.address)
    yield cluster
    ray.shutdown()
    cluster.shutdown()
