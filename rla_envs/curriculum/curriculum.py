"""Active tasks, trials and an archive with lineage: a state machine without any LLM."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

from rla_envs.curriculum import ledger, proposals, trials
from rla_envs.curriculum.config import AdaptReport, CurriculumConfig, Draw, Tally
from rla_envs.curriculum.store import Store
from rla_envs.errors import ConfigError, RunError
from rla_envs.seeding import derive_seed
from rla_envs.types import Group, Rewriter, Task


class Check(Protocol):
    """Static checks of a rewrite: they need no episode."""

    def __call__(self, root: Task, old: Task, new: Task, known: Collection[str]) -> str | None:
        """Return why new is no valid rewrite of old, or None.

        Args:
            root: The task whose intention must be kept.
            old: The task that new may replace.
            new: The candidate.
            known: Fingerprints of every task that was ever served or tried.
        """
        ...


class Curriculum:
    """Serves tasks, takes in outcomes and adapts the tasks to the policy.

    Every call is one transaction. Draws, decisions and ids are functions of the content of the
    store, the arguments and the seeds, so that a run continued from a snapshot equals one that
    never stopped.

    Args:
        tasks: Roots. With a store that already has content, they must be the same ones.
        config: Settings; kept in the store and compared when it is opened again.
        rewriter: Proposes candidates; None only with rewrite="none".
        store: Where everything is kept: a Store, a path, or None for memory only.
        check: Static checks; None takes the domain's own (ALFWorld: ``check_rewrite``).

    Raises:
        ConfigError: no tasks, two with one id, a task that is no root, or a rewriter missing.
        RunError: the store belongs to other tasks or settings.

    Example:
        >>> from rla_envs.curriculum import Curriculum, CurriculumConfig
        >>> from rla_envs.types import Task
        >>> task = Task(id="a", domain="alfworld", instruction="put a mug in desk.", payload={})
        >>> fixed = CurriculumConfig(rewrite="none")
        >>> curriculum = Curriculum([task], config=fixed, rewriter=None)
        >>> [draw.task.id for draw in curriculum.draw(2, seed=0)]
        ['a', 'a']
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        *,
        config: CurriculumConfig | None = None,
        rewriter: Rewriter | None,
        store: Store | str | Path | None = None,
        check: Check | None = None,
    ) -> None:
        self.config = config or CurriculumConfig()
        if rewriter is None and self.config.rewrite != "none":
            raise ConfigError(f'rewrite="{self.config.rewrite}" needs a rewriter; give rewriter=')
        self.rewriter = rewriter
        self.store = store if isinstance(store, Store) else Store(store or ":memory:")
        roots = list(tasks)
        _check_roots(roots)
        self.check = check if check is not None else proposals.domain_check(roots[0].domain)
        with self.store.transaction():
            self._open(roots)

    @classmethod
    def restore(
        cls,
        snapshot: str | Path,
        tasks: Sequence[Task],
        *,
        config: CurriculumConfig | None = None,
        rewriter: Rewriter | None,
        store: str | Path | None = None,
        check: Check | None = None,
    ) -> Curriculum:
        """Return the curriculum of a snapshot; what store held before is replaced.

        Raises:
            RunError: there is no snapshot, or it belongs to other tasks or settings.
        """
        opened = Store(store or ":memory:")
        opened.load(snapshot)
        return cls(tasks, config=config, rewriter=rewriter, store=opened, check=check)

    def snapshot(self, path: str | Path) -> None:
        """Write everything into path (one file, replaced as a whole), for a checkpoint."""
        self.store.snapshot(path)

    def draw(self, n: int, *, seed: int) -> list[Draw]:
        """Return n tasks to run, one group each.

        Open trials take up to ``trial_share`` of the draw: the served task and its rival together.
        The rest are the served tasks that were drawn least. A draw of one serves a trial's two
        sides in turn.

        Raises:
            ConfigError: n is below 1.
        """
        if n < 1:
            raise ConfigError(f"a curriculum draws at least 1 task, got n={n}")
        rng = random.Random(derive_seed(seed, "curriculum"))
        with self.store.transaction():
            self.store.set_meta("last_draw", str(n))
            draws = self._draw_trials(n, rng)
            busy = {draw.task.root_id for draw in draws}
            draws += self._draw_training(n - len(draws), busy, rng)
            for root_id in {draw.task.root_id for draw in draws}:
                drawn = sum(draw.task.root_id == root_id for draw in draws)
                self.store.write(
                    "UPDATE slots SET drawn = drawn + ? WHERE root_id = ?", drawn, root_id
                )
        return draws

    def report(self, groups: Sequence[Group], *, policy_version: int) -> None:
        """Take in outcomes and votes; masked trajectories (outcome None) are counted, no more.

        Raises:
            RunError: a group's task was never served by this curriculum.
        """
        with self.store.transaction():
            for group in groups:
                self.store.task(group.task.id)
                wins, losses = ledger.add_counts(
                    self.store, group, policy_version=policy_version, window=self.config.window
                )
                trials.add_outcomes(self.store, group.task.id, wins, losses, policy_version)

    def adapt(self, *, policy_version: int, seed: int) -> AdaptReport:
        """Decide trials, take back what proved wrong, propose for tasks outside the band."""
        tally = Tally()
        with self.store.transaction():
            trials.close_blocks(self.store)
            trials.settle(self.store, self.config, tally, policy_version)
            proposals.take_back(self.store, self.config, tally, policy_version)
            if self.rewriter is not None and self.config.rewrite != "none":
                proposals.propose(
                    self.store,
                    self.config,
                    self.rewriter,
                    self.check,
                    tally,
                    policy_version=policy_version,
                    seed=seed,
                )
            return self._summary(tally)

    def rollback(self, task_id: str, *, policy_version: int, reason: str = "manual") -> Task:
        """Serve the parent of a served task again and return it; open trials on the task end.

        Raises:
            RunError: the task is not served, or is a root.
        """
        with self.store.transaction():
            return proposals.roll_back(
                self.store, task_id, reason, policy_version=policy_version, numbers={}
            )

    def active(self) -> list[Task]:
        """Return the served task of every lineage, in the order of root ids."""
        rows = self.store.rows("SELECT active_id FROM slots ORDER BY root_id")
        return [self.store.task(row["active_id"]) for row in rows]

    def lineage(self, task_id: str) -> list[Task]:
        """Return the tasks from the root down to task_id, each the parent of the next."""
        task = self.store.task(task_id)
        chain = [task]
        while chain[-1].parent_id is not None:
            chain.append(self.store.task(chain[-1].parent_id))
        return chain[::-1]

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def _open(self, roots: Sequence[Task]) -> None:
        settings = json.dumps(asdict(self.config), sort_keys=True)
        stored = self.store.meta("config")
        if stored is None:
            self.store.set_meta("config", settings)
            for task in roots:
                ledger.add_root(self.store, task)
            return
        if stored != settings:
            raise RunError(
                f"{self.store.path} was made with other settings ({stored}); pass the same config "
                "or start a new store"
            )
        known = {row["root_id"] for row in self.store.rows("SELECT root_id FROM slots")}
        if other := known ^ {task.id for task in roots}:
            raise RunError(
                f"{self.store.path} belongs to other tasks (e.g. {min(other)!r}); pass the same "
                "tasks or start a new store"
            )

    def _draw_trials(self, n: int, rng: random.Random) -> list[Draw]:
        pending = trials.open_trials(self.store)
        if n == 1:
            # One episode cannot hold both sides: the side that was issued less often comes now.
            if not pending or rng.random() >= self.config.trial_share:
                return []
            trial = min(pending, key=lambda t: (t["issued_old"] + t["issued_new"], t["id"]))
            return [self._issue(trial, new=trial["issued_new"] < trial["issued_old"])]
        pairs = n * self.config.trial_share / 2
        whole = int(pairs) + (rng.random() < pairs - int(pairs))
        return [self._issue(trial, new=new) for trial in pending[:whole] for new in (False, True)]

    def _issue(self, trial: sqlite3.Row, *, new: bool) -> Draw:
        side = "new" if new else "old"
        self.store.write(
            f"UPDATE trials SET issued_{side} = issued_{side} + 1 WHERE id = ?", trial["id"]
        )
        task = self.store.task(trial[f"{side}_id"])
        if trial["kind"] == "null":
            return Draw(task=task, role="null_new" if new else "null_old")
        return Draw(task=task, role="trial_new" if new else "trial_old")

    def _draw_training(self, n: int, busy: set[str], rng: random.Random) -> list[Draw]:
        if n < 1:
            return []
        rows = self.store.rows("SELECT root_id, active_id, drawn FROM slots ORDER BY root_id")
        order = [(row["root_id"] in busy, row["drawn"], rng.random(), row) for row in rows]
        order.sort(key=lambda entry: entry[:3])
        chosen = [order[i % len(order)][3] for i in range(n)]
        return [Draw(task=self.store.task(row["active_id"])) for row in chosen]

    def _summary(self, tally: Tally) -> AdaptReport:
        return AdaptReport(
            proposed=tally.proposed,
            rejected=dict(sorted(tally.rejected.items())),
            accepted=tuple(tally.accepted),
            rolled_back=tuple(tally.rolled_back),
            on_trial=len(trials.open_trials(self.store)),
            totals=ledger.totals(self.store),
            state=ledger.state(self.store, self.config.band),
        )


def _check_roots(roots: Sequence[Task]) -> None:
    if not roots:
        raise ConfigError("a curriculum needs at least one task, got none")
    seen: set[str] = set()
    for task in roots:
        if task.id in seen:
            raise ConfigError(f"task ids must be unique, {task.id!r} comes twice")
        if task.root_id != task.id:
            raise ConfigError(f"a curriculum starts from roots, {task.id!r} is a rewrite")
        seen.add(task.id)
