"""The numeric view is a Gymnasium environment, tells commands apart, and can be learned from."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from rla_adapters.numeric import NumericView

from rla_envs.errors import ConfigError


def view(**settings):
    env = gymnasium.make("rla_envs:rla/AlfWorld-v0", view="compact", max_steps=6)
    return NumericView(env, **settings)


def test_it_passes_gymnasiums_own_check():
    with warnings.catch_warnings():
        # Counts have no upper bound, and a wrapper is checked here on purpose.
        warnings.simplefilter("ignore")
        check_env(view(commands=40, width=64), skip_render_check=True)


def test_words_are_counted_and_places_masked():
    env = view(commands=128, width=4096)
    numbers, info = env.reset(seed=0)
    count = len(info["admissible_commands"])
    assert info["commands_hidden"] == 0
    assert numbers["mask"].sum() == env.action_masks().sum() == count
    # A row of counts sums to the number of words.
    for row, command in zip(numbers["commands"], info["admissible_commands"], strict=False):
        assert row.sum() == len(command.split())
    assert not numbers["commands"][count:].any()
    assert len({row.tobytes() for row in numbers["commands"][:count]}) == count


def test_an_action_is_the_command_at_its_place_and_an_empty_place_costs_a_step():
    plain = gymnasium.make("rla_envs:rla/AlfWorld-v0", view="compact", max_steps=6)
    _, info = plain.reset(seed=3)
    command = info["admissible_commands"][2]
    expected = plain.step(command)[4]["feedback"]
    env = view()
    env.reset(seed=3)
    numbers, _, _, _, told = env.step(np.int64(2))
    assert told["feedback"] == expected
    told = env.step(63 if numbers["mask"][63] == 0 else 999)[4]
    assert told["feedback_reason"] is not None


def test_commands_beyond_the_last_place_are_hidden_and_counted():
    env = view(commands=3)
    numbers, info = env.reset(seed=0)
    assert info["commands_hidden"] == len(info["admissible_commands"]) - 3
    assert numbers["mask"].tolist() == [1, 1, 1]
    with pytest.raises(ConfigError, match="got 0 and 256"):
        view(commands=0)
