"""The command line: mistakes cost one line and exit code 2; the core commands need no extra."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rla_envs import __version__
from rla_envs.cli import _fresh, _parser, _settings, main
from rla_envs.errors import RunError
from rla_envs.tracking.progress import LineProgress, RichProgress, make_progress


def test_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"rla-envs {__version__}\n"


def test_mistake_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith(f"rla: {tmp_path} is not a run folder")


def test_folder_that_cannot_be_written_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    words = ["tasks", "generate", "alfworld", "--n", "1", "--out", str(tmp_path / "file" / "games")]
    assert main(words) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["fly"],
        ["report"],
        ["report", "run", "--fast"],
        ["tasks"],
        ["tasks", "generate", "alfworld"],
        ["tasks", "generate", "alfworld", "--out", "games", "--n", "0"],
        ["train", "chess"],
        ["train", "alfworld", "--out", "a", "--resume", "b"],
        ["eval", "run", "--split", "test"],
    ],
)
def test_wrong_words_exit_with_2_and_usage(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(words)
    assert exit_.value.code == 2
    assert "usage: rla" in capsys.readouterr().err


def test_report_prints_the_path_it_wrote(
    example_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    assert main(["report", str(example_run)]) == 0
    assert capsys.readouterr().out.strip() == str(example_run / "report.html")


def test_unknown_environment_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "rla/Chess-v0"]) == 2
    assert "Chess" in capsys.readouterr().err


# ---- settings


def settings(*words: str) -> object:
    pytest.importorskip("tyro")
    options, rest = _parser().parse_known_args(["train", "alfworld", *words])
    return _settings(options, rest)


def test_named_options_and_any_other_setting_change_the_preset() -> None:
    config = settings(
        "--preset", "full", "--arm", "policy", "--seed", "7", "--iterations", "3",
        "--loop.rollout.tasks", "5",
    )  # fmt: skip
    assert config.arm == "policy"
    assert (config.loop.seed, config.loop.iterations, config.loop.rollout.tasks) == (7, 3, 5)
    assert config.train_tasks == 256


def test_resume_takes_the_stored_settings(tmp_path: Path) -> None:
    from dataclasses import asdict

    from rla_envs.config import preset
    from rla_envs.tracking import RunFolder

    stored = preset("demo", arm="reward", seed=5)
    RunFolder.create(tmp_path / "run", asdict(stored)).close()
    assert settings("--resume", str(tmp_path / "run")) == stored
    longer = settings("--resume", str(tmp_path / "run"), "--iterations", "99")
    assert (longer.arm, longer.loop.seed, longer.loop.iterations) == ("reward", 5, 99)
    with pytest.raises(RunError, match="not a run folder"):
        settings("--resume", str(tmp_path))


def test_unknown_setting_exits_with_2() -> None:
    with pytest.raises(SystemExit) as exit_:
        settings("--loop.speed", "9")
    assert exit_.value.code == 2


def test_default_run_folder_never_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = _fresh("alfworld", "full", 0)
    first.mkdir(parents=True)
    assert (first, _fresh("alfworld", "full", 0)) == (
        Path("runs/alfworld-full-0"),
        Path("runs/alfworld-full-0-2"),
    )


# ---- extras

WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name.partition(".")[0])

sys.meta_path.insert(0, Absent())
from rla_envs.cli import main
sys.exit(main({words!r}))
"""


def run_without(absent: tuple[str, ...], *words: str, typed: str = "") -> tuple[int, str, str]:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(absent=absent, words=list(words))],
        capture_output=True,
        text=True,
        input=typed,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    return ran.returncode, ran.stdout, ran.stderr


EXTRAS = (
    "torch",
    "transformers",
    "tokenizers",
    "safetensors",
    "pyarrow",
    "matplotlib",
    "tyro",
    "rich",
)


def test_missing_package_is_answered_with_the_extra_that_brings_it(example_run: Path) -> None:
    for missing, words in {
        "tyro": ["train", "alfworld"],
        "matplotlib": ["report", str(example_run)],
        "torch": ["eval", str(example_run)],
    }.items():
        code, _, errors = run_without((missing,), *words)
        assert code == 2, errors
        assert "pip install 'rla-envs[train]'" in errors, errors
        assert "Traceback" not in errors


def test_playing_needs_the_core_install_alone() -> None:
    code, out, errors = run_without(EXTRAS, "play", "--seed", "1", typed="look\nquit\n")
    assert code == 0, errors
    assert "Your task is to" in out


def test_generating_needs_the_core_install_alone(tmp_path: Path) -> None:
    words = ["tasks", "generate", "alfworld", "--n", "3", "--size", "small", "--out", str(tmp_path)]
    code, out, errors = run_without(EXTRAS, *words)
    assert code == 0, errors
    assert out.startswith("3 games")
    assert len(list(tmp_path.glob("train/*/*/game.tw-pddl"))) == 3


# ---- progress


def test_without_a_terminal_there_is_one_line_an_iteration() -> None:
    out = io.StringIO()
    progress = make_progress(out)
    assert isinstance(progress, LineProgress)
    progress.begin(2)
    progress.phase("sample", 1, 64)
    progress.iteration({"iteration": 1, "accuracy/train": 0.25, "seconds/total": 12.4})
    progress.iteration({"iteration": 2, "accuracy/in_domain": 0.5, "tasks/total/accepted": 3})
    progress.end(Path("runs/a/report.html"))
    assert out.getvalue().splitlines() == [
        "iteration   1/2  train  25.0%  12 s",
        "iteration   2/2  in-domain  50.0%  tasks accepted 3",
        "report: runs/a/report.html",
    ]


def test_bars_take_the_same_calls() -> None:
    pytest.importorskip("rich")
    progress = RichProgress()
    progress.begin(3, done=1)
    progress.phase("sample", 1, 64)
    progress.phase("sample", 64, 64)
    progress.phase("judge", 0, 9)
    progress.iteration({"iteration": 2, "accuracy/train": 0.25})
    progress.end(None)
