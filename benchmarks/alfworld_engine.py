"""Speed and memory of the embedded ALFWorld engine, with TextWorld itself as the yardstick.

    python benchmarks/alfworld_engine.py GAMES_FOLDER [--real-games 3] [--episodes 10000]

GAMES_FOLDER holds official games (``**/game.tw-pddl``). Times are CPU seconds of one core; both
engines answer the same commands, with the sorted admissible list after each. Without the extra
"alfworld" the comparison is left out and says so.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import resource
import time
import tracemalloc
from pathlib import Path

from rla_envs.alfworld.engine import Game, World, load_game
from rla_envs.alfworld.engine.textworld import RealWorld
from rla_envs.errors import MissingExtra

COMMANDS = 50


def play(game: Game, rng: random.Random) -> list[str]:
    """Return the commands of one episode of the embedded engine."""
    world = World(game)
    commands: list[str] = []
    for _ in range(COMMANDS):
        command = rng.choice(world.admissible())
        world.step(command)
        commands.append(command)
    world.admissible()
    return commands


def resident_mib() -> float:
    """Return the memory this process holds now, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def load_time(paths: list[Path]) -> float:
    """Return CPU milliseconds to read a game file and to start an episode."""
    load_game(paths[0])
    start = time.process_time()
    for path in paths:
        World(load_game(path))
    return (time.process_time() - start) / len(paths) * 1e3


def step_rate(games: list[Game]) -> float:
    """Return steps per CPU second, admissible list included, resets not."""
    episodes = [(game, play(game, random.Random(n))) for n, game in enumerate(games)]
    total = 0.0
    for game, commands in episodes:
        world = World(game)
        start = time.process_time()
        for command in commands:
            world.step(command)
            world.admissible()
        total += time.process_time() - start
    return len(games) * COMMANDS / total


def memory_of_games(paths: list[Path]) -> float:
    """Return KiB a loaded game takes once it has been played."""
    load_game(paths[0])
    gc.collect()
    tracemalloc.start()
    games = [load_game(path) for path in paths]
    for game in games:
        World(game).admissible()
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size / len(games) / 1024


def memory_growth(games: list[Game], episodes: int) -> tuple[float, float]:
    """Return the resident MiB after a tenth of the episodes and after all of them."""
    rng = random.Random(0)
    early = resident_mib()
    for number in range(episodes):
        play(games[number % len(games)], rng)
        if number == episodes // 10:
            gc.collect()
            early = resident_mib()
    gc.collect()
    return early, resident_mib()


def cpu_of(pid: int) -> float:
    """Return the CPU seconds that a running process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def real_costs(path: Path, game: Game) -> tuple[float, float]:
    """Return the real engine's CPU seconds for start, load and reset, and for one step."""
    commands = play(game, random.Random(1))[:20]
    with RealWorld(path) as world:
        started = cpu_of(world.pid)
        for command in commands:
            world.step(command)
        return started, (cpu_of(world.pid) - started) / len(commands)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("games", type=Path, help="folder with official games")
    parser.add_argument("--real-games", type=int, default=3, help="games for the real engine")
    parser.add_argument("--episodes", type=int, default=10_000, help="episodes of the memory check")
    options = parser.parse_args()
    paths = sorted(options.games.glob("**/game.tw-pddl"))
    if not paths:
        parser.error(f"no game.tw-pddl below {options.games}")
    games = [load_game(path) for path in paths]
    rate = step_rate(games)
    print(f"games                      {len(paths)}")
    print(f"load + reset               {load_time(paths):.2f} ms")
    print(f"steps, with commands       {rate:,.0f} /s")
    print(f"memory a game              {memory_of_games(paths):.0f} KiB")
    early, late = memory_growth(games, options.episodes)
    print(f"resident after {options.episodes // 10:>7,} ep.  {early:.1f} MiB")
    print(f"resident after {options.episodes:>7,} ep.  {late:.1f} MiB")
    try:
        chosen = random.Random(3).sample(range(len(paths)), min(options.real_games, len(paths)))
        real = [real_costs(paths[n], games[n]) for n in chosen]
    except MissingExtra as error:
        print(f"real engine                not compared: {error}")
        return
    starts, steps = (sum(costs) / len(costs) for costs in zip(*real, strict=True))
    print(f"real: start, load, reset   {starts:.1f} s")
    print(f"real: steps, with commands {1 / steps:.2f} /s")
    print(f"ratio of steps/s           {rate * steps:,.0f}")


if __name__ == "__main__":
    main()
