"""Does the closed loop help? Arms over seeds on fixed panels, with 95 % intervals.

Usage: python benchmarks/closed_loop.py [--seeds 8] [--arms ...] [--out docs/results/closed_loop]

Every (arm, seed) is one run of `rla train alfworld` in a process with one thread, two side by side.
Seeds s and s + 4 share their warm-started models: making these takes longer than a run. A finished
run leaves one JSON file of metrics in --out and is skipped the next time, so that a sweep can be
stopped and taken up again. No seed is dropped.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from scipy import stats

from rla_envs.config import Arm, LoopConfig, TrainConfig, from_dict, preset
from rla_envs.credit import VoteBaseline

METRICS = {
    "accuracy/in_domain": "in-domain accuracy",
    "accuracy/out_of_domain": "out-of-domain accuracy",
    "judge/balanced_accuracy": "judge: process accuracy (balanced)",
    "judge/process_accuracy": "judge: process accuracy",
    "judge/outcome_accuracy": "judge: outcome accuracy",
}


WARM_STARTS = 4
"""Pairs of warm-started models; every one serves several seeds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """An arm with its rule for the judge's reward."""

    arm: Arm
    vote_baseline: VoteBaseline = "centred"
    train_judge: bool = True
    lam_follows_worth: bool = False


VARIANTS = {
    "policy": Variant(arm="policy"),
    "reward": Variant(arm="reward"),
    "full": Variant(arm="full"),
    "random-rewrite": Variant(arm="random-rewrite"),
    "reward-frozen": Variant(arm="reward", train_judge=False),
    "reward-step": Variant(arm="reward", vote_baseline="step"),
    "reward-group": Variant(arm="reward", vote_baseline="group"),
    "reward-worth": Variant(arm="reward", lam_follows_worth=True),
}


def settings(variant: Variant, seed: int, iterations: int) -> TrainConfig:
    """Return the demo's settings with the variant's rules."""
    config = preset("demo", arm=variant.arm, seed=seed)
    credit = replace(
        config.loop.credit,
        vote_baseline=variant.vote_baseline,
        lam_follows_worth=variant.lam_follows_worth,
    )
    loop: LoopConfig = replace(
        config.loop,
        iterations=iterations,
        evaluate_every=max(1, iterations // 2),
        train_judge=variant.train_judge,
        credit=credit,
    )
    warm_start = replace(config.warm_start, seed=seed % WARM_STARTS)
    return replace(config, loop=loop, warm_start=warm_start)


def run_one(config: dict, run: Path, models: Path, result: Path) -> None:
    """Train one run to its end and leave its metrics in result."""
    from rla_adapters.run import train

    from rla_envs.tracking import RunFolder

    train(from_dict(TrainConfig, config), run, resume=run.exists(), models=models)
    rows = RunFolder.open(run).metrics()
    temporary = result.with_suffix(".tmp")
    temporary.write_text(json.dumps({"config": config, "metrics": rows}) + "\n")
    temporary.rename(result)


def sweep(names: Sequence[str], seeds: int, iterations: int, out: Path, work: Path) -> None:
    """Run what is missing, two at a time, seed by seed so that every arm has the same ones."""

    def start(seed: int, name: str) -> None:
        result = out / f"{name}-{seed}.json"
        if result.exists():
            return
        config = asdict(settings(VARIANTS[name], seed, iterations))
        folders = [work / f"{name}-{seed}", work / f"models-{seed % WARM_STARTS}", result]
        command = [sys.executable, __file__, "--one", json.dumps(config), *map(str, folders)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        print(f"{name}, seed {seed}: done", flush=True)

    out.mkdir(parents=True, exist_ok=True)
    work.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(2) as pool:
        # The first runs make the models that the others start from.
        list(pool.map(lambda seed: start(seed, names[0]), range(min(seeds, WARM_STARTS))))
        list(pool.map(lambda job: start(*job), [(s, n) for s in range(seeds) for n in names]))


def curves(out: Path, name: str, metric: str, seeds: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (iterations [I], values [S, I]) of a metric over the seeds that have finished."""
    rows_S = [
        {
            row["iteration"]: row[metric]
            for row in json.loads((out / f"{name}-{seed}.json").read_text())["metrics"]
            if row.get(metric) is not None
        }
        for seed in range(seeds)
        if (out / f"{name}-{seed}.json").exists()
    ]
    steps = sorted(set.intersection(*(set(rows) for rows in rows_S))) if rows_S else []
    return np.array(steps), np.array([[rows[step] for step in steps] for rows in rows_S])


def interval(values_S: np.ndarray) -> tuple[float, float]:
    """Return mean and half-width of the 95 % interval of the mean over seeds (Student's t)."""
    n = len(values_S)
    if n < 2:
        return float(values_S.mean()), float("nan")
    return float(values_S.mean()), float(
        stats.t.ppf(0.975, n - 1) * values_S.std(ddof=1) / np.sqrt(n)
    )


def table(out: Path, names: Sequence[str], seeds: int) -> Iterator[str]:
    """Yield the lines of a Markdown table: first and last value of each metric an arm."""
    yield "| arm | seeds | " + " | ".join(METRICS.values()) + " | mean in-domain over the run |"
    yield "|---" * (len(METRICS) + 3) + "|"
    for name in names:
        cells: list[str] = []
        count = 0
        for metric in METRICS:
            _, values = curves(out, name, metric, seeds)
            if not values.size:
                cells.append("-")
                continue
            count = len(values)
            # Judge metrics come from 64 episodes; three iterations at either end steady them.
            wide = 3 if metric.startswith("judge") else 1
            first, _ = interval(values[:, :wide].mean(axis=1))
            last, half = interval(values[:, -wide:].mean(axis=1))
            cells.append(f"{first:.3f} → {last:.3f} ± {half:.3f}")
        _, values = curves(out, name, "accuracy/in_domain", seeds)
        area, half = interval(values.mean(axis=1)) if values.size else (np.nan, np.nan)
        yield f"| {name} | {count} | " + " | ".join(cells) + f" | {area:.3f} ± {half:.3f} |"


def contrasts(out: Path, names: Sequence[str], seeds: int) -> Iterator[str]:
    """Yield paired differences: between arms of equal seed, and between end and start of a run."""

    def cell(metric: str, name: str, other: str | None) -> str:
        wide = 3 if metric.startswith("judge") else 1
        _, values = curves(out, name, metric, seeds)
        if not values.size:
            return "-"
        last = values[:, -wide:].mean(axis=1)
        base = values[:, :wide].mean(axis=1)
        if other is not None:
            _, others = curves(out, other, metric, seeds)
            base = others[:, -wide:].mean(axis=1) if others.size else np.zeros(0)
        if len(base) != len(last):
            return "-"
        mean, half = interval(last - base)
        return f"{mean:+.3f} ± {half:.3f}"

    shown = [metric for metric in METRICS if metric != "judge/process_accuracy"]
    yield "| paired difference | " + " | ".join(METRICS[metric] for metric in shown) + " |"
    yield "|---" * (len(shown) + 1) + "|"
    for name in names:
        yield f"| {name}: end - start | " + " | ".join(cell(m, name, None) for m in shown) + " |"
    pairs = [(name, names[0]) for name in names[1:]]
    pairs += [(name, "reward") for name in names if "reward" in names and name not in names[:2]]
    for name, other in pairs:
        yield f"| {name} - {other} | " + " | ".join(cell(m, name, other) for m in shown) + " |"


def plot(out: Path, names: Sequence[str], seeds: int) -> Path:
    """Draw mean and 95 % interval of each metric over iterations."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = list(METRICS)[:3]
    figure, axes = plt.subplots(1, len(shown), figsize=(5.2 * len(shown), 4.2))
    for axis, metric in zip(axes, shown, strict=True):
        for index, name in enumerate(names):
            steps, values = curves(out, name, metric, seeds)
            if not values.size:
                continue
            if metric.startswith("judge"):
                kernel = np.ones(3) / 3
                values = np.array([np.convolve(row, kernel, "valid") for row in values])
                steps = steps[1:-1]
            mean, half = np.array([interval(column) for column in values.T]).T
            axis.plot(steps, mean, label=name, color=f"C{index}")
            axis.fill_between(steps, mean - half, mean + half, alpha=0.12, color=f"C{index}")
        axis.set_title(METRICS[metric])
        axis.set_xlabel("iteration")
        axis.grid(alpha=0.25)
    axes[0].legend(fontsize=8)
    figure.tight_layout()
    path = out.with_suffix(".png")
    figure.savefig(path, dpi=110)
    return path


def main() -> None:
    """Run or finish the sweep, then print and plot it."""
    if sys.argv[1:2] == ["--one"]:
        config, run, models, result = sys.argv[2:]
        run_one(json.loads(config), Path(run), Path(models), Path(result))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=12)
    parser.add_argument("--arms", nargs="+", default=list(VARIANTS)[:7], choices=list(VARIANTS))
    parser.add_argument("--out", type=Path, default=Path("docs/results/closed_loop"))
    parser.add_argument("--work", type=Path, default=Path("runs/closed_loop"))
    parser.add_argument("--report-only", action="store_true")
    options = parser.parse_args()
    if not options.report_only:
        sweep(options.arms, options.seeds, options.iterations, options.out, options.work)
    lines = [
        *table(options.out, options.arms, options.seeds),
        "",
        *contrasts(options.out, options.arms, options.seeds),
    ]
    print("\n".join(lines))
    options.out.with_suffix(".md").write_text("\n".join(lines) + "\n")
    print(f"plot: {plot(options.out, options.arms, options.seeds)}")


if __name__ == "__main__":
    main()
