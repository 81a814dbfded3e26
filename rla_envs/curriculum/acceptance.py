"""Is the new task really harder (easier)? A sequential test with a stated error rate.

Old and new task run side by side. A *block* holds the outcomes of both under one policy version.
Given how many of a block's episodes were won in all, the number won on the new task is
hypergeometric if both tasks have the same accuracy, whatever that accuracy is and however the
policy changed since the last block; if the new task's odds of winning are exp(-d) times the old
one's, it is Fisher's noncentral hypergeometric. The test multiplies those likelihood ratios over
blocks and averages over a fixed grid of d: an e-process for "not harder". By Ville's inequality it
ever reaches 1/alpha with probability at most alpha, so it may be looked at after every block and
stopped at any time. docs/curriculum.md derives it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Literal

from rla_envs.errors import ConfigError
from rla_envs.types import Direction

Rule = Literal["sequential", "paper", "always"]
"""How a trial is decided: see AcceptanceConfig.rule."""

Verdict = Literal["accept", "reject", "continue"]

LOG_ODDS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
"""Differences of log odds the test bets on, each with the same share of the stake.

0.9 -> 0.5 is a difference of 2.2, 0.9 -> 0.7 of 1.35, 0.95 -> 0.25 of 4.0."""

SHRINK = (1 / 8, 2 / 8, 3 / 8, 4 / 8, 5 / 8, 6 / 8, 7 / 8)
"""Fractions of a band's end that the rollback test bets on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Outcomes of the old and the new task under one policy version, masked episodes left out."""

    old_wins: int
    old_n: int
    new_wins: int
    new_n: int

    def __post_init__(self) -> None:
        if not (0 <= self.old_wins <= self.old_n and 0 <= self.new_wins <= self.new_n):
            raise ConfigError(f"a block needs 0 <= wins <= episodes on both sides, got {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceConfig:
    """How trials are decided."""

    rule: Rule = "sequential"
    """"sequential": this module's test; "paper": the published strict comparison; "always":
    whatever passed the static checks, without a trial."""
    alpha: float = 0.05
    """Largest probability of accepting a rewrite that is not harder (easier) than the old task."""
    in_band: float = 0.8
    """Posterior probability, at least, that an accepted task does not overshoot the band."""
    max_episodes: int = 48
    """Episodes of the new task after which a trial without evidence is rejected."""
    futile_episodes: int = 16
    """Episodes of the new task after which a trial ends once the evidence is not above 1."""
    paper_episodes: int = 8
    """Episodes of the new task on which rule="paper" decides."""

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise ConfigError(f"alpha must be in (0, 1), got {self.alpha}")
        if not self.alpha < self.in_band < 1:
            raise ConfigError(f"in_band must be in (alpha, 1), got {self.in_band}")
        for name in ("max_episodes", "futile_episodes", "paper_episodes"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a trial says at this point, with the numbers it rests on.

    Attributes:
        verdict: "continue" means that more episodes are needed.
        reason: One of "evidence", "paper rule", "no trial", "wrong direction", "out of band",
            "futile", "no evidence", "undecided".
        e_value: Evidence that the rewrite does what it should; >= 1/alpha accepts.
        counter_e_value: Evidence that it does the opposite.
        in_band: Posterior probability (uniform prior) that the new accuracy does not overshoot the
            band.
        old_wins, old_n, new_wins, new_n: Totals over blocks.
    """

    verdict: Verdict
    reason: str
    e_value: float
    counter_e_value: float
    in_band: float
    old_wins: int
    old_n: int
    new_wins: int
    new_n: int

    def numbers(self) -> dict[str, float]:
        """Return the numbers for the record."""
        return {k: v for k, v in asdict(self).items() if isinstance(v, int | float)}


def decide(
    blocks: Sequence[Block],
    *,
    direction: Direction,
    band: tuple[float, float],
    config: AcceptanceConfig,
    trigger_accuracy: float | None = None,
) -> Decision:
    """Return whether a trial accepts, rejects or goes on.

    A harder rewrite is accepted iff the e-value against "new accuracy >= old accuracy" is at least
    1/alpha, it was won at least once, and P(accuracy >= the band's low end) is at least in_band.
    Easier mirrors it: lost at least once, P(accuracy <= the high end). Everything else can only
    stop a trial early, and stopping early never raises the false-accept rate.

    Args:
        blocks: Closed blocks in order.
        direction: What the rewrite promises.
        band: (low, high) accuracy.
        config: Rule and error rate.
        trigger_accuracy: The accuracy that called for the rewrite: the old accuracy of
            rule="paper".
    """
    totals = _totals(blocks)
    e_value = evidence(blocks, direction)
    counter = evidence(blocks, "easier" if direction == "harder" else "harder")
    in_band = 1 - overshoot_probability(totals.new_wins, totals.new_n, direction, band)

    def decided(verdict: Verdict, reason: str) -> Decision:
        return Decision(
            verdict=verdict,
            reason=reason,
            e_value=e_value,
            counter_e_value=counter,
            in_band=in_band,
            old_wins=totals.old_wins,
            old_n=totals.old_n,
            new_wins=totals.new_wins,
            new_n=totals.new_n,
        )

    if config.rule == "always":
        return decided("accept", "no trial")
    if config.rule == "paper":
        if totals.new_n < config.paper_episodes:
            return decided("continue", "undecided")
        old = trigger_accuracy if trigger_accuracy is not None else totals.old_wins / totals.old_n
        accepted = paper_accepts(old, totals.new_wins / totals.new_n, direction, band)
        return decided("accept" if accepted else "reject", "paper rule")
    spread = totals.new_wins if direction == "harder" else totals.new_n - totals.new_wins
    if e_value >= 1 / config.alpha and spread and in_band >= config.in_band:
        return decided("accept", "evidence")
    if counter >= 1 / config.alpha:
        return decided("reject", "wrong direction")
    if in_band <= config.alpha:
        return decided("reject", "out of band")
    if totals.new_n >= config.max_episodes:
        return decided("reject", "no evidence")
    if totals.new_n >= config.futile_episodes and e_value <= 1:
        return decided("reject", "futile")
    return decided("continue", "undecided")


def paper_accepts(old: float, new: float, direction: Direction, band: tuple[float, float]) -> bool:
    """Return the published rule: low <= new < old (harder) or old < new <= high, and new > 0."""
    low, high = band
    if new <= 0:
        return False
    return low <= new < old if direction == "harder" else old < new <= high


def evidence(blocks: Iterable[Block], direction: Direction) -> float:
    """Return the e-value of blocks for "the new task is harder (easier) than the old one".

    Under "it is not", its expectation is at most 1 at every stopping time. 1.0 without blocks.

    One block of one episode a side is the sign test on a pair: old won and new lost multiplies the
    bet on a difference of d log odds by 2 / (1 + exp(-d)); old lost and new won by 2 exp(-d) / (1 +
    exp(-d)); equal outcomes by 1.
    """
    blocks = tuple(blocks)
    total = 0.0
    for d in LOG_ODDS:
        shift = -d if direction == "harder" else d
        total += math.exp(sum(log_likelihood_ratio(block, shift) for block in blocks))
    return total / len(LOG_ODDS)


@lru_cache(maxsize=65536)
def log_likelihood_ratio(block: Block, shift: float) -> float:
    """Return log P(new wins | all wins; shift) - log P(new wins | all wins; 0), in nats.

    Args:
        block: Outcomes under one policy version.
        shift: log odds(new) - log odds(old).
    """
    wins = block.old_wins + block.new_wins
    support = range(max(0, wins - block.old_n), min(block.new_n, wins) + 1)
    ways = [math.comb(block.new_n, x) * math.comb(block.old_n, wins - x) for x in support]
    tilted = math.fsum(
        way * math.exp(shift * (x - block.new_wins)) for x, way in zip(support, ways, strict=True)
    )
    return math.log(sum(ways)) - math.log(tilted)


def overshoot_probability(
    wins: int, n: int, direction: Direction, band: tuple[float, float]
) -> float:
    """Return the posterior probability that accuracy lies beyond the band's far end, in [0, 1].

    Far end: low for a harder task, high for an easier one. Uniform prior, binomial outcomes: the
    posterior is Beta(wins + 1, losses + 1).
    """
    if direction == "harder":
        return _beta_below(band[0], wins + 1, n - wins + 1)
    return _beta_below(1 - band[1], n - wins + 1, wins + 1)


def overshoot_evidence(wins: int, n: int, direction: Direction, band: tuple[float, float]) -> float:
    """Return the e-value for "an accepted task's accuracy lies beyond the band's far end".

    Averages, over q = low * SHRINK, the likelihood ratio of accuracy q against low (mirrored for
    easier). Under accuracies that never leave the band on that side its expectation is at most 1 at
    every stopping time, also when they change with the policy.
    """
    end = band[0] if direction == "harder" else 1 - band[1]
    hits = wins if direction == "harder" else n - wins
    if end <= 0:
        return 1.0
    misses = n - hits
    logs = [
        hits * math.log(share) + misses * (math.log1p(-end * share) - math.log1p(-end))
        for share in SHRINK
    ]
    return sum(map(math.exp, logs)) / len(logs)


def _totals(blocks: Sequence[Block]) -> Block:
    return Block(
        old_wins=sum(b.old_wins for b in blocks),
        old_n=sum(b.old_n for b in blocks),
        new_wins=sum(b.new_wins for b in blocks),
        new_n=sum(b.new_n for b in blocks),
    )


def _beta_below(x: float, a: int, b: int) -> float:
    """P(Beta(a, b) < x) for integers: P(Binomial(a + b - 1, x) >= a)."""
    n = a + b - 1
    return math.fsum(math.comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(a, n + 1))
