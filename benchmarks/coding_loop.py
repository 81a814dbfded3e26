"""The closed loop on coding, arm by arm, seed by seed: `python benchmarks/coding_loop.py --help`.

Prints one line a run: first and last accuracy on both panels, and the quality of generated tests
at the first and the last iteration. All runs start from one pair of warm-started models.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

from rla_adapters.run import train

from rla_envs.config import preset

ARMS = ("policy", "reward", "full", "random-rewrite")
SHOWN = ("accuracy/in_domain", "accuracy/out_of_domain", "tests/correct", "tests/detection")


def main() -> None:
    """Run what was asked for and print a line a run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/coding_loop"))
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=ARMS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=15)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for arm in options.arms:
        for seed in range(options.seeds):
            config = preset("demo", domain="coding", arm=arm, seed=seed)
            loop = replace(config.loop, iterations=options.iterations, evaluate_every=5)
            run = options.out / f"{arm}-{seed}"
            train(replace(config, loop=loop), run, models=options.out / "warm_start")
            print(arm, seed, *_ends(run / "metrics.jsonl"), flush=True)


def _ends(path: Path) -> list[str]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    found: list[str] = []
    for name in SHOWN:
        values = [row[name] for row in rows if name in row]
        if values:
            found.append(f"{name} {values[0]:.3f} -> {values[-1]:.3f}")
    return found


if __name__ == "__main__":
    main()
