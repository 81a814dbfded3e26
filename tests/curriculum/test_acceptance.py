"""The sequential test, by hand-worked numbers, and the published rule beside it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rla_envs.curriculum.acceptance import (
    LOG_ODDS,
    AcceptanceConfig,
    Block,
    decide,
    evidence,
    log_likelihood_ratio,
    overshoot_evidence,
    overshoot_probability,
    paper_accepts,
)
from rla_envs.errors import ConfigError

BAND = (0.2, 0.8)
CONFIG = AcceptanceConfig()


def block(old_wins, old_n, new_wins, new_n):
    return Block(old_wins=old_wins, old_n=old_n, new_wins=new_wins, new_n=new_n)


def binomial(k, n, p):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


def test_a_pair_that_only_the_old_task_won_multiplies_each_bet_by_2_over_1_plus_exp_minus_d():
    # One win among two episodes: P(new has it) is exp(-d) / (1 + exp(-d)), or 1/2 without effect.
    for d in LOG_ODDS:
        ratio = math.exp(log_likelihood_ratio(block(1, 1, 0, 1), -d))
        assert ratio == pytest.approx(2 / (1 + math.exp(-d)))
        ratio = math.exp(log_likelihood_ratio(block(0, 1, 1, 1), -d))
        assert ratio == pytest.approx(2 * math.exp(-d) / (1 + math.exp(-d)))


def test_k_discordant_pairs_give_the_mean_of_the_kth_powers():
    for k in (1, 5, 9):
        by_hand = sum((2 / (1 + math.exp(-d))) ** k for d in LOG_ODDS) / len(LOG_ODDS)
        assert evidence([block(1, 1, 0, 1)] * k, "harder") == pytest.approx(by_hand)
    # 2 / (1 + exp(-d)) is 1.2449 1.4621 1.6351 1.7616 1.8483 1.9051 1.9414 1.9640 for the grid.
    assert evidence([block(1, 1, 0, 1)], "harder") == pytest.approx(1.7203, abs=1e-4)


def test_five_discordant_pairs_do_not_accept_and_six_do():
    assert evidence([block(1, 1, 0, 1)] * 5, "harder") == pytest.approx(17.72, abs=0.01)
    assert evidence([block(1, 1, 0, 1)] * 6, "harder") == pytest.approx(32.64, abs=0.01)


def test_equal_outcomes_are_no_evidence():
    assert evidence([block(1, 1, 1, 1), block(0, 1, 0, 1), block(8, 8, 8, 8)], "harder") == 1.0
    assert evidence([], "harder") == 1.0


def test_a_block_is_fishers_noncentral_hypergeometric_against_the_central_one():
    # 6 of 8 old, 2 of 8 new, odds ratio exp(-1); 8 wins in all.
    total, wins = 16, 8
    noncentral = stats.nchypergeom_fisher(total, 8, wins, math.exp(-1))
    central = stats.hypergeom(total, 8, wins)
    expected = math.log(noncentral.pmf(2) / central.pmf(2))
    assert log_likelihood_ratio(block(6, 8, 2, 8), -1.0) == pytest.approx(expected)


def test_harder_and_easier_mirror_each_other():
    harder = [block(7, 8, 3, 8), block(8, 8, 5, 8)]
    easier = [block(1, 8, 5, 8), block(0, 8, 3, 8)]
    assert evidence(harder, "harder") == pytest.approx(evidence(easier, "easier"))


@settings(max_examples=50, deadline=None)
@given(
    old_n=st.integers(1, 6),
    new_n=st.integers(1, 6),
    old=st.floats(0, 1),
    gain=st.floats(0, 1),
)
def test_the_expected_e_value_of_a_block_is_at_most_1_unless_the_task_is_harder(
    old_n, new_n, old, gain
):
    new = old + gain * (1 - old)
    expected = sum(
        binomial(a, old_n, old)
        * binomial(b, new_n, new)
        * evidence([block(a, old_n, b, new_n)], "harder")
        for a in range(old_n + 1)
        for b in range(new_n + 1)
    )
    assert expected <= 1 + 1e-9
    if gain == 0:
        assert expected == pytest.approx(1)


def test_null_rewrites_are_accepted_at_most_alpha_while_the_policy_improves():
    rng = np.random.default_rng(0)
    accepted = 0
    for _ in range(400):
        blocks = []
        for p in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95):
            blocks.append(block(int(rng.binomial(8, p)), 8, int(rng.binomial(8, p)), 8))
            verdict = decide(blocks, direction="harder", band=BAND, config=CONFIG).verdict
            if verdict != "continue":
                break
        accepted += verdict == "accept"
    # 0.05 * 400 = 20 is the bound on the mean; mean + 2.3 standard deviations = 30.
    assert accepted <= 30


def test_clear_evidence_inside_the_band_accepts():
    decision = decide(
        [block(8, 8, 4, 8), block(8, 8, 4, 8)], direction="harder", band=BAND, config=CONFIG
    )
    assert (decision.verdict, decision.reason) == ("accept", "evidence")
    assert decision.e_value >= 20
    assert decision.numbers()["new_wins"] == 8


def test_a_harder_task_that_nobody_wins_is_not_accepted():
    lost = [block(8, 8, 0, 8)] * 2
    assert evidence(lost, "harder") > 20
    decision = decide(lost, direction="harder", band=BAND, config=CONFIG)
    # P(accuracy < 0.2 | 0 of 16) = 1 - 0.8**17 = 0.977.
    assert decision.in_band == pytest.approx(0.8**17)
    assert (decision.verdict, decision.reason) == ("reject", "out of band")


def test_an_easier_task_that_nobody_loses_is_not_accepted():
    decision = decide([block(0, 8, 8, 8)] * 2, direction="easier", band=BAND, config=CONFIG)
    assert (decision.verdict, decision.reason) == ("reject", "out of band")


def test_evidence_for_the_opposite_rejects():
    decision = decide([block(4, 8, 8, 8)] * 3, direction="harder", band=BAND, config=CONFIG)
    assert (decision.verdict, decision.reason) == ("reject", "wrong direction")


def test_a_trial_without_evidence_ends():
    same = [block(7, 8, 7, 8)] * 3
    decision = decide(same, direction="harder", band=BAND, config=CONFIG)
    assert (decision.verdict, decision.reason) == ("reject", "futile")
    slight = [block(7, 8, 6, 8), block(8, 8, 7, 8)] * 3
    decision = decide(slight, direction="harder", band=BAND, config=CONFIG)
    assert (decision.verdict, decision.reason) == ("reject", "no evidence")


@pytest.mark.parametrize(
    ("old", "new", "direction", "accepted"),
    [
        (0.875, 0.75, "harder", True),
        (0.875, 0.875, "harder", False),
        (0.875, 0.125, "harder", False),
        (0.0, 0.5, "easier", True),
        (0.0, 0.0, "easier", False),
        (0.125, 0.875, "easier", False),
        (1.0, 0.2, "harder", True),
        (0.125, 0.8, "easier", True),
    ],
)
def test_the_published_rule(old, new, direction, accepted):
    assert paper_accepts(old, new, direction, BAND) == accepted


def test_the_published_rule_waits_for_its_episodes_and_uses_the_accuracy_that_called_for_it():
    config = AcceptanceConfig(rule="paper")
    some = [block(0, 4, 3, 4)]
    arguments = {"direction": "harder", "band": BAND, "config": config, "trigger_accuracy": 0.875}
    assert decide(some, **arguments).verdict == "continue"
    assert decide(some * 2, **arguments).verdict == "accept"  # 0.75 < 0.875, whatever old did


def test_overshoot_probability_is_a_beta_tail():
    expected = stats.beta.cdf(0.2, 3 + 1, 13 + 1)
    assert overshoot_probability(3, 16, "harder", BAND) == pytest.approx(expected)
    expected = stats.beta.sf(0.8, 13 + 1, 3 + 1)
    assert overshoot_probability(13, 16, "easier", BAND) == pytest.approx(expected)


def test_overshoot_evidence_of_k_losses_is_the_mean_of_kth_powers():
    k = 10
    by_hand = sum(((1 - 0.2 * s / 8) / 0.8) ** k for s in range(1, 8)) / 7
    assert overshoot_evidence(0, k, "harder", BAND) == pytest.approx(by_hand)
    assert overshoot_evidence(k, k, "easier", BAND) == pytest.approx(by_hand)


@settings(deadline=None)
@given(p=st.floats(0.2, 1), n=st.integers(0, 12))
def test_overshoot_evidence_expects_at_most_1_inside_the_band(p, n):
    expected = sum(
        binomial(k, n, p) * overshoot_evidence(k, n, "harder", BAND) for k in range(n + 1)
    )
    assert expected <= 1 + 1e-9


def test_impossible_settings_are_refused():
    with pytest.raises(ConfigError, match="alpha"):
        AcceptanceConfig(alpha=0)
    with pytest.raises(ConfigError, match="in_band"):
        AcceptanceConfig(in_band=1.0)
    with pytest.raises(ConfigError, match="wins"):
        block(2, 1, 0, 1)
