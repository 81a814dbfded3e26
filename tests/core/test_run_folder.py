"""A run folder is whole whenever its writer dies, has one writer, and returns what was put in."""

from __future__ import annotations

import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from rla_envs.errors import ConfigError, RunError
from rla_envs.tracking import RunFolder
from rla_envs.types import Completion, Group, Step, Task, Trajectory, Vote

pytest.importorskip("pyarrow")

CONFIG = {"arm": "full", "loop": {"seed": 0, "iterations": 3}}


def step(action: str = "look", labels: tuple[int | None, ...] = (1, -1, None)) -> Step:
    return Step(
        observation="you see\na shelf",
        completion=Completion(text=f"I will\n{action}", prompt_ids=(1, 2), token_ids=(3,)),
        action=action,
        next_observation="nothing happens. ünïcödé",
        votes=tuple(Vote(label=label, rationale=f"because {label}") for label in labels),
        info={"admissible_commands": ["look", "inventory"]},
    )


def trajectory(task: Task, *steps: Step, outcome: int | None = 1) -> Trajectory:
    return Trajectory(
        task=task,
        steps=steps,
        outcome=outcome,
        stop_reason="won" if outcome == 1 else "budget",
        seed=2**63 - 1,
        policy_version=4,
    )


def task(name: str = "t", **fields: object) -> Task:
    return Task(id=name, domain="alfworld", instruction="put a mug on a desk", payload={}, **fields)


# ---- metrics


def test_metrics_come_back_and_nan_becomes_a_missing_name(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", CONFIG) as run:
        run.append_metrics({"iteration": 1, "accuracy/train": 0.25, "policy/kl": math.nan})
    assert run.metrics() == [{"iteration": 1, "accuracy/train": 0.25}]
    assert "NaN" not in (run.path / "metrics.jsonl").read_text()


def test_half_written_last_line_is_ignored_by_readers_and_removed_by_resume(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", CONFIG) as run:
        run.append_metrics({"iteration": 1})
        with run.checkpoint(1):
            pass
    file = run.path / "metrics.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"iteration": 2, "accur')
    assert run.metrics() == [{"iteration": 1}]
    with RunFolder.open(run.path) as again:
        again.resume()
    assert file.read_bytes() == whole


def test_broken_line_in_the_middle_is_an_error_that_names_it(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", CONFIG) as run:
        (run.path / "metrics.jsonl").write_text('{"iteration": 1}\n{"iter\n{"iteration": 3}\n')
        with pytest.raises(RunError, match="line 2"):
            run.metrics()


def test_metric_that_is_no_number_is_refused_by_name(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", CONFIG) as run:
        with pytest.raises(ConfigError, match="accuracy/train"):
            run.append_metrics({"iteration": 1, "accuracy/train": "high"})  # pyright: ignore
        with pytest.raises(ConfigError, match="iteration"):
            run.append_metrics({"accuracy/train": 1.0})


# ---- trajectories


def test_trajectories_come_back_with_votes_labels_rewards_and_info(tmp_path: Path) -> None:
    root = task("root")
    child = task("child", parent_id="root", root_id="root", difficulty=7.0)
    groups = [
        Group(task=root, trajectories=(trajectory(root, step("go to shelf 1"), step("look")),)),
        Group(task=child, trajectories=(trajectory(child, step(), outcome=None),), on_trial=True),
    ]
    with RunFolder.create(tmp_path / "run", CONFIG) as run:
        run.write_trajectories(12, groups, oracle=[[True, False], None], rewards=[[1.5, 0.5], None])
        assert run.trajectory_iterations() == [12]
        first, second = run.trajectories(12)
    assert (first.task_id, first.seed, first.policy_version) == ("root", 2**63 - 1, 4)
    assert [s.oracle for s in first.steps] == [1, -1]
    assert [s.reward for s in first.steps] == [1.5, 0.5]
    assert [v.label for v in first.steps[0].step.votes] == [1, -1, None]
    assert first.steps[0].step.votes[1].rationale == "because -1"
    assert first.steps[0].step.observation == "you see\na shelf"
    assert first.steps[0].step.info == {"admissible_commands": ["look", "inventory"]}
    assert (second.parent_id, second.difficulty, second.on_trial) == ("root", 7.0, True)
    assert (second.outcome, second.steps[0].oracle, second.steps[0].reward) == (None, None, None)


def test_trajectory_without_steps_is_kept(tmp_path: Path) -> None:
    group = Group(task=task(), trajectories=(trajectory(task(), outcome=None),))
    with RunFolder.create(tmp_path / "run", CONFIG) as run:
        run.write_trajectories(1, [group])
        assert [len(t.steps) for t in run.trajectories(1)] == [0]


@pytest.mark.parametrize(
    ("oracle", "message"),
    [
        ([None, None], "oracle has 2 entries for 1 trajectories"),
        ([[True]], r"oracle\[0\] has 1 values for 2 steps"),
    ],
)
def test_labels_that_do_not_match_the_steps_are_refused(
    tmp_path: Path, oracle: list[list[bool] | None], message: str
) -> None:
    group = Group(task=task(), trajectories=(trajectory(task(), step(), step()),))
    with (
        RunFolder.create(tmp_path / "run", CONFIG) as run,
        pytest.raises(ConfigError, match=message),
    ):
        run.write_trajectories(1, [group], oracle=oracle)


# ---- checkpoints


def test_only_the_latest_checkpoints_stay(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", CONFIG) as run:
        assert run.latest_checkpoint() is None
        for iteration in range(4):
            with run.checkpoint(iteration, keep=2) as folder:
                (folder / "weights.safetensors").write_bytes(b"w")
        names = sorted(path.name for path in (run.path / "checkpoints").iterdir())
    assert names == ["iteration-00002", "iteration-00003"]
    assert run.latest_checkpoint() == (3, run.path / "checkpoints" / "iteration-00003")


def test_checkpoint_whose_block_raises_does_not_exist(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", CONFIG) as run:
        with pytest.raises(OSError, match="disk full"), run.checkpoint(1):
            raise OSError("disk full")
        assert run.latest_checkpoint() is None
        with run.checkpoint(1):
            pass
        assert run.latest_checkpoint() is not None


def test_resume_cuts_metrics_trajectories_and_task_archive_back(tmp_path: Path) -> None:
    group = Group(task=task(), trajectories=(trajectory(task(), step()),))

    def tasks_known() -> list[int]:
        with sqlite3.connect(run.archive) as database:
            return [n for (n,) in database.execute("select n from task order by n")]

    with RunFolder.create(tmp_path / "run", CONFIG) as run:
        with sqlite3.connect(run.archive) as database:
            database.execute("create table task(n)")
        for iteration in (1, 2, 3):
            with sqlite3.connect(run.archive) as database:
                database.execute("insert into task values (?)", (iteration,))
            run.append_metrics({"iteration": iteration})
            run.write_trajectories(iteration, [group])
            if iteration == 2:
                with run.checkpoint(iteration):
                    pass
        (run.path / "checkpoints" / "iteration-00003.tmp").mkdir()
        assert tasks_known() == [1, 2, 3]
        checkpoint = run.resume()
    assert checkpoint == (2, run.path / "checkpoints" / "iteration-00002")
    assert [m["iteration"] for m in run.metrics()] == [1, 2]
    assert run.trajectory_iterations() == [1, 2]
    assert tasks_known() == [1, 2]
    assert not list((run.path / "checkpoints").glob("*.tmp"))


def test_run_that_died_before_its_first_checkpoint_starts_over(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", CONFIG) as run:
        run.append_metrics({"iteration": 1})
        run.archive.touch()
    with RunFolder.open(run.path) as again:
        with pytest.raises(RunError, match="no complete checkpoint"):
            again.require_checkpoint()
        assert again.resume() is None
        assert again.metrics() == []
        assert not again.archive.exists()


# ---- one writer, one configuration


def test_second_writer_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    first = RunFolder.create(tmp_path / "run", CONFIG)
    with pytest.raises(RunError, match=f"process {os.getpid()}"):
        RunFolder.open(first.path).resume()
    first.close()
    with RunFolder.open(first.path) as second:
        second.resume()


def test_lock_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    code = (
        "import sys, os, signal; from rla_envs.tracking import RunFolder;"
        f"run = RunFolder.create(sys.argv[1], {CONFIG!r}); os.kill(os.getpid(), signal.SIGKILL)"
    )
    dead = subprocess.run([sys.executable, "-c", code, str(tmp_path / "run")], env=python_path())
    assert dead.returncode == -signal.SIGKILL
    assert (tmp_path / "run" / "lock").exists()
    with RunFolder.open(tmp_path / "run") as run:
        assert run.resume() is None


def test_lock_whose_process_id_went_to_another_process_is_taken_over(tmp_path: Path) -> None:
    RunFolder.create(tmp_path / "run", CONFIG)
    lock = tmp_path / "run" / "lock"
    owner = json.loads(lock.read_text())
    if owner["started"] is None:
        pytest.skip("this system does not tell when a process started")
    lock.write_text(json.dumps({**owner, "started": owner["started"] - 1}))
    RunFolder.open(tmp_path / "run").resume()


def test_lock_of_another_machine_is_respected(tmp_path: Path) -> None:
    RunFolder.create(tmp_path / "run", CONFIG)
    lock = tmp_path / "run" / "lock"
    lock.write_text(json.dumps({**json.loads(lock.read_text()), "host": "elsewhere"}))
    with pytest.raises(RunError, match=r"on elsewhere.*delete .*lock"):
        RunFolder.open(tmp_path / "run").resume()


def test_reader_cannot_write(tmp_path: Path) -> None:
    RunFolder.create(tmp_path / "run", CONFIG).close()
    reader = RunFolder.open(tmp_path / "run")
    with pytest.raises(RunError, match="open for reading"):
        reader.append_metrics({"iteration": 1})


def test_resume_with_another_configuration_lists_the_differing_fields(tmp_path: Path) -> None:
    RunFolder.create(tmp_path / "run", CONFIG).close()
    other = {"arm": "policy", "loop": {"seed": 0, "iterations": 9}}
    with pytest.raises(
        RunError, match=r'arm: "full" in the run, "policy" now; loop\.iterations: 3'
    ):
        RunFolder.open(tmp_path / "run").resume(other)
    with RunFolder.open(tmp_path / "run") as run:
        run.resume({"arm": "full", "loop": other["loop"]}, may_differ=["loop.iterations"])
    assert RunFolder.open(tmp_path / "run").config["loop"]["iterations"] == 9


def test_create_refuses_a_folder_that_holds_something(tmp_path: Path) -> None:
    RunFolder.create(tmp_path / "run", CONFIG).close()
    with pytest.raises(RunError, match="already holds a run"):
        RunFolder.create(tmp_path / "run", CONFIG)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    with pytest.raises(RunError, match="not empty"):
        RunFolder.create(tmp_path / "photos", CONFIG)


def test_open_names_the_missing_file(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no config\.json"):
        RunFolder.open(tmp_path)


# ---- killed at any moment

KILLED_EVERYWHERE = """
import os, signal, sqlite3, sys
from pathlib import Path
import pyarrow, pyarrow.parquet
from rla_envs.errors import RunError
from rla_envs.tracking import RunFolder
from rla_envs.types import Completion, Group, Step, Task, Trajectory

base = Path(sys.argv[1])
task = Task(id="t", domain="alfworld", instruction="i", payload={})
step = Step(observation="o", completion=Completion(text="c"), action="a", next_observation="n")

def loop(path):
    try:
        run = RunFolder.open(path)
        checkpoint = run.resume({"seed": 0})
    except RunError as error:
        assert "config.json" in str(error), error
        run, checkpoint = RunFolder.create(path, {"seed": 0}), None
    state = int((checkpoint[1] / "state").read_text()) if checkpoint else 1
    database = sqlite3.connect(run.archive)
    database.execute("pragma journal_mode = wal")
    database.execute("create table if not exists states(iteration primary key, state)")
    for iteration in range(checkpoint[0] + 1 if checkpoint else 1, 3):
        state = state * 7 % 101
        with database:
            database.execute("insert into states values (?, ?)", (iteration, state))
        played = Trajectory(task=task, steps=(step,) * 2, outcome=1, stop_reason="won",
                            seed=state, policy_version=iteration)
        run.write_trajectories(iteration, [Group(task=task, trajectories=(played,))])
        run.append_metrics({"iteration": iteration, "state": state})
        with run.checkpoint(iteration, keep=1) as folder:
            (folder / "state").write_text(str(state))
    database.close()
    run.close()

def observed(path):
    run = RunFolder.open(path)
    with sqlite3.connect(run.archive) as database:
        rows = database.execute("select * from states order by iteration").fetchall()
    seeds = [t.seed for i in run.trajectory_iterations() for t in run.trajectories(i)]
    names = sorted(p.relative_to(path).as_posix() for p in path.rglob("*"))
    # A kill between the last checkpoint and the removal of the one before leaves both.
    free = ("events.jsonl", "checkpoints/iteration-00001", "curriculum.sqlite-")
    names = [name for name in names if not name.startswith(free)]
    return run.metrics(), rows, seeds, names

def fork(work):
    # pyarrow is imported but unused in this process, so that forking it is safe.
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def kill_at(moment, path):
    passed = [0]
    def hook(event, arguments):
        if event.startswith(("open", "os.", "shutil.", "sqlite3.")):
            if any(str(path) in str(argument) for argument in arguments):
                passed[0] += 1
                if passed[0] == moment:
                    os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
    loop(path)

def check():
    assert observed(path) == observed(base / "reference"), (observed(path), moment)

assert fork(lambda: loop(base / "reference")) == 0
moment = 0
while True:
    moment += 1
    path = base / f"killed-{moment}"
    code = fork(lambda: kill_at(moment, path))
    if code == 0:
        break
    assert code == -signal.SIGKILL, code
    assert fork(lambda: loop(path)) == 0, moment
    assert fork(check) == 0, moment
print("killed at", moment - 1, "moments")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_run_killed_at_any_file_operation_resumes_to_the_same_numbers(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", KILLED_EVERYWHERE, str(tmp_path)],
        capture_output=True,
        text=True,
        env=python_path(),
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    moments = int(ran.stdout.split()[-2])
    assert moments > 50, ran.stdout


def python_path() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
