"""False accepts, power and cost of the acceptance rules, by simulation.

    python benchmarks/acceptance.py [--runs 4000] [--out docs/results]

A null rewrite is the same task again: whatever is accepted is a false accept. The published rule is
computed exactly from binomial probabilities; the sequential test runs as it runs in a curriculum.
Writes acceptance.json and acceptance.png.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np

from rla_envs.curriculum.acceptance import AcceptanceConfig, Block, decide, paper_accepts

BAND = (0.2, 0.8)
ACCURACIES = [round(0.05 * k, 2) for k in range(1, 20)]
EFFECTS = [("harder", 0.95, new) for new in (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.1, 0.02)] + [
    ("harder", 0.85, new) for new in (0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
]
EFFECTS += [("easier", round(1 - old, 2), round(1 - new, 2)) for _, old, new in EFFECTS]
CONFIG = AcceptanceConfig()


def binomial(n: int, p: float) -> list[float]:
    """Return P(k wins of n), k = 0..n."""
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def paper(old: float, new: float, n: int) -> tuple[float, float]:
    """Return P(a group of n leaves the band) and P(accept | it does) under the published rule."""
    triggered = accepted = 0.0
    new_k = binomial(n, new)
    for k, weight in enumerate(binomial(n, old)):
        share = k / n
        if BAND[0] < share < BAND[1]:
            continue
        direction = "harder" if share >= BAND[1] else "easier"
        triggered += weight
        accepted += weight * sum(
            p for j, p in enumerate(new_k) if paper_accepts(share, j / n, direction, BAND)
        )
    return triggered, accepted / triggered


def sequential(
    rng: np.random.Generator,
    direction: str,
    old: list[float],
    new: list[float],
    *,
    runs: int,
    group: int = 8,
    config: AcceptanceConfig = CONFIG,
) -> dict[str, float]:
    """Return accept rate with its standard error, shares of reasons, episodes of the rewrite.

    old and new hold the accuracies of one policy version after another; the last ones stay.
    """
    accepts, episodes, reasons = 0, 0, {}
    for _ in range(runs):
        blocks: list[Block] = []
        while True:
            v = len(blocks)
            blocks.append(
                Block(
                    old_wins=int(rng.binomial(group, old[min(v, len(old) - 1)])),
                    old_n=group,
                    new_wins=int(rng.binomial(group, new[min(v, len(new) - 1)])),
                    new_n=group,
                )
            )
            decision = decide(blocks, direction=direction, band=BAND, config=config)
            if decision.verdict != "continue":
                break
        accepts += decision.verdict == "accept"
        episodes += group * len(blocks)
        reasons[decision.reason] = reasons.get(decision.reason, 0) + 1
    rate = accepts / runs
    return {
        "accept": rate,
        "stderr": math.sqrt(rate * (1 - rate) / runs),
        "episodes": episodes / runs,
        "reasons": {why: n / runs for why, n in sorted(reasons.items())},
    }


def null_rates(rng: np.random.Generator, runs: int) -> list[dict]:
    """Return what each rule accepts of null rewrites, one row an accuracy."""
    rows = []
    for p in ACCURACIES:
        row = {"accuracy": p}
        for n in (8, 32):
            row[f"paper_{n}_triggered"], row[f"paper_{n}"] = paper(p, p, n)
        for direction in ("harder", "easier"):
            row[direction] = sequential(rng, direction, [p], [p], runs=runs)
        rows.append(row)
    return rows


def uniform_prior(n: int, points: int = 2000) -> float:
    """Return P(accept | trigger) of the published rule on null rewrites, accuracy ~ uniform."""
    triggered = accepted = 0.0
    for i in range(points):
        p = (i + 0.5) / points
        t, a = paper(p, p, n)
        triggered, accepted = triggered + t, accepted + t * a
    return accepted / triggered


def powers(rng: np.random.Generator, runs: int) -> list[dict]:
    """Return what each rule accepts of true effects."""
    return [
        {
            "direction": direction,
            "old": old,
            "new": new,
            "paper_8": paper(old, new, 8)[1],
            **sequential(rng, direction, [old], [new], runs=runs),
        }
        for direction, old, new in EFFECTS
    ]


def stress(rng: np.random.Generator, runs: int) -> dict[str, dict]:
    """Null rewrites under conditions that break a test which pools over versions or peeks."""
    rising = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
    long = AcceptanceConfig(max_episodes=200, futile_episodes=200)
    return {
        "policy improves 0.5 -> 0.95, groups of 8": sequential(
            rng, "harder", rising, rising, runs=runs
        ),
        "accuracy 0.5, one episode a block": sequential(
            rng, "harder", [0.5], [0.5], runs=runs, group=1
        ),
        "accuracy 0.5, 200 episodes, never futile": sequential(
            rng, "harder", [0.5], [0.5], runs=runs // 2, config=long
        ),
    }


def print_tables(result: dict) -> None:
    """Print everything."""
    print("null rewrites: share accepted (published rule: given that a group left the band)")
    print("accuracy  paper n=8  paper n=32  ours harder  ours easier  episodes")
    for row in result["null"]:
        cost = max(row["harder"]["episodes"], row["easier"]["episodes"])
        print(
            f"{row['accuracy']:8.2f} {row['paper_8']:10.3f} {row['paper_32']:11.3f} "
            f"{row['harder']['accept']:12.4f} {row['easier']['accept']:12.4f} {cost:9.1f}"
        )
    print("published rule, uniform prior on accuracy:", result["paper_uniform_prior"])
    for name, row in result["stress"].items():
        print(f"null, {name}: {row['accept']:.4f} +- {row['stderr']:.4f}")
    print("\npower: share accepted, mean episodes of the rewrite")
    print("direction   old   new  paper n=8   ours  episodes  reasons")
    for row in result["power"]:
        print(
            f"{row['direction']:9} {row['old']:5.2f} {row['new']:5.2f} {row['paper_8']:10.3f} "
            f"{row['accept']:6.3f} {row['episodes']:9.1f}  "
            + ", ".join(f"{why} {share:.2f}" for why, share in row["reasons"].items())
        )


def plot(result: dict, path: Path) -> None:
    """Draw false accepts, power and cost."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
    x = [row["accuracy"] for row in result["null"]]
    left.plot(x, [r["paper_8"] for r in result["null"]], "o-", label="published rule, 8 episodes")
    left.plot(x, [r["paper_32"] for r in result["null"]], "s-", label="published rule, 32 episodes")
    ours = [max(r["harder"]["accept"], r["easier"]["accept"]) for r in result["null"]]
    left.plot(x, ours, "d-", label="sequential test")
    left.axhline(CONFIG.alpha, color="grey", ls="--", label=f"alpha = {CONFIG.alpha}")
    left.set(
        xlabel="accuracy of the task",
        ylabel="null rewrites accepted",
        ylim=(0, 1),
        title="False accepts",
    )
    left.legend()
    for old, mark in ((0.95, "o-"), (0.85, "s-")):
        rows = [r for r in result["power"] if r["direction"] == "harder" and r["old"] == old]
        right.plot(
            [r["new"] for r in rows], [r["accept"] for r in rows], mark, label=f"old {old}: power"
        )
        right.plot(
            [r["new"] for r in rows],
            [r["episodes"] / CONFIG.max_episodes for r in rows],
            mark[0] + ":",
            label=f"old {old}: episodes / {CONFIG.max_episodes}",
        )
    right.axvspan(*BAND, color="grey", alpha=0.15, label="band")
    right.set(xlabel="accuracy of the harder rewrite", ylim=(0, 1.02), title="Sequential test")
    right.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Simulate, print, save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4000, help="simulated trials a cell")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    started = time.process_time()
    result = {
        "runs": arguments.runs,
        "seed": arguments.seed,
        "alpha": CONFIG.alpha,
        "max_episodes": CONFIG.max_episodes,
        "band": BAND,
        "null": null_rates(rng, arguments.runs),
        "paper_uniform_prior": {f"n={n}": round(uniform_prior(n), 4) for n in (8, 32)},
        "stress": stress(rng, arguments.runs),
        "power": powers(rng, arguments.runs),
    }
    result["cpu_seconds"] = round(time.process_time() - started, 1)
    print_tables(result)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "acceptance.json").write_text(json.dumps(result, indent=1) + "\n")
    plot(result, arguments.out / "acceptance.png")
    print(f"\nwrote {arguments.out}/acceptance.json and .png, {result['cpu_seconds']} CPU s")


if __name__ == "__main__":
    main()
