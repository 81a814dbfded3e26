"""kill -9 at any moment: the file opens again at the last finished call."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from rla_envs.curriculum import Curriculum, CurriculumConfig, Store

PROGRAM = textwrap.dedent(
    """
    import sys
    from rla_envs.curriculum import Curriculum, CurriculumConfig
    from rla_envs.types import Completion, Group, Step, Task, Trajectory

    tasks = [Task(id=f"t{i}", domain="numbers", instruction="", payload={}) for i in range(4)]
    curriculum = Curriculum(
        tasks,
        config=CurriculumConfig(rewrite="none"),
        rewriter=None,
        store=sys.argv[1],
        check=lambda *tasks: None,
    )
    version = 0
    while True:
        groups = [
            Group(
                task=draw.task,
                trajectories=tuple(
                    Trajectory(
                        task=draw.task, steps=(), outcome=1, stop_reason="won", seed=0,
                        policy_version=version,
                    )
                    for _ in range(3)
                ),
            )
            for draw in curriculum.draw(4, seed=version)
        ]
        curriculum.report(groups, policy_version=version)
        print(version, flush=True)
        version += 1
    """
)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("milliseconds", [0, 3, 7, 12])
def test_a_killed_writer_leaves_whole_reports(tmp_path, make_tasks, milliseconds):
    path = tmp_path / "c.sqlite"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=Path(__file__).parent,
    )
    finished = -1
    while finished < 5:
        finished = int(process.stdout.readline())
    time.sleep(milliseconds / 1000)
    process.kill()
    rest, _ = process.communicate()
    finished = max([finished, *map(int, rest.split())])

    store = Store(path)
    rows = store.rows("SELECT policy_version, COUNT(*) AS n, SUM(wins) AS w FROM counts GROUP BY 1")
    # A report of 4 groups of 3 wins is there wholly or not at all; what was printed is there.
    assert all((row["n"], row["w"]) == (4, 12) for row in rows)
    assert len(rows) in (finished + 1, finished + 2)
    store.close()
    again = Curriculum(
        make_tasks(1, 1, 1, 1),
        config=CurriculumConfig(rewrite="none"),
        rewriter=None,
        store=path,
        check=lambda *tasks: None,
    )
    assert len(again.draw(4, seed=0)) == 4
