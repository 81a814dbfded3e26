"""The embedded engine answers what the real one answered when its answers were recorded."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from rla_envs.alfworld.engine import World, load_game

pytestmark = pytest.mark.official


def test_every_recorded_answer_is_reproduced(shared_data: Path, official_root: Path) -> None:
    checked = 0
    with lzma.open(shared_data / "alfworld" / "real_engine_traces.jsonl.xz", "rt") as lines:
        for line in lines:
            trace = json.loads(line)
            world = World(load_game(official_root / trace["game"]))
            for step in trace["steps"]:
                if step["command"] is not None:
                    world.step(step["command"])
                where = (trace["game"], step["command"])
                assert world.feedback == step["feedback"], where
                assert world.admissible() == step["admissible"], where
                assert world.won == step["won"], where
                checked += 1
    assert checked == 630
