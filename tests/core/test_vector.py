"""Vector environments: synchronous and asynchronous ones give the same, to the letter."""

import gymnasium
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import rla_envs

every_id = pytest.mark.parametrize(
    # Two desktops a test are too dear, and their observations are no text.
    "env_id",
    [name for name in rla_envs.registered_ids() if "OSWorld" not in name],
)
every_mode = pytest.mark.parametrize("autoreset", list(AutoresetMode))


def budget(env_id, turns):
    """Return the option that ends an episode after so many turns."""
    return {"turns" if "Coding" in env_id else "max_steps": turns}


def makers(env_id, n=3, **kwargs):
    options = {**budget(env_id, 3), **kwargs}
    return [lambda: gymnasium.make(env_id, **options) for _ in range(n)]


def actions_for(info, turn):
    """Return one action an environment: listed ones, numbers, nonsense."""
    batch = []
    for place, commands in enumerate(info["admissible_commands"]):
        if not commands:
            batch.append("look")
            continue
        choice = (turn * 5 + place) % len(commands)
        batch.append((commands[choice], f"[{choice}]", "sing é\n𝄞")[(turn + place) % 3])
    return tuple(batch)


def play(env, turns=9, *, mask=False):
    """Return all that a vector environment says; with mask, reset finished ones by hand."""
    rows = [env.reset(seed=11)]
    for turn in range(turns):
        rows.append(env.step(actions_for(rows[-1][-1], turn)))
        over = rows[-1][2] | rows[-1][3]
        if mask and over.any():
            rows.append(env.reset(options={"reset_mask": over}))
    env.close()
    return rows


@every_id
@pytest.mark.parametrize("view", ["full", "compact"])
@pytest.mark.parametrize("shared_memory", [True, False])
def test_sync_and_async_are_equal(env_id, view, shared_memory):
    sync = play(SyncVectorEnv(makers(env_id, view=view)))
    other = play(AsyncVectorEnv(makers(env_id, view=view), shared_memory=shared_memory))
    assert data_equivalence(sync, other, exact=True)
    assert all(isinstance(text, str) for row in other for text in row[0])
    assert any("\n" in text for text in sync[0][0]) == (view == "full")


@every_mode
@pytest.mark.parametrize("shared_memory", [True, False])
def test_sync_and_async_are_equal_in_every_autoreset_mode(autoreset, shared_memory):
    mask = autoreset == AutoresetMode.DISABLED
    env_id = "rla/AlfWorld-v0"
    sync = play(SyncVectorEnv(makers(env_id), autoreset_mode=autoreset), mask=mask)
    other = play(
        AsyncVectorEnv(makers(env_id), autoreset_mode=autoreset, shared_memory=shared_memory),
        mask=mask,
    )
    assert data_equivalence(sync, other, exact=True)
    if autoreset == AutoresetMode.SAME_STEP:
        assert any("final_obs" in row[-1] for row in sync)


def test_masked_reset_starts_only_the_finished_episodes():
    env = SyncVectorEnv(
        [
            lambda steps=steps: gymnasium.make("rla/AlfWorld-v0", max_steps=steps)
            for steps in (1, 3)
        ],
        autoreset_mode=AutoresetMode.DISABLED,
    )
    env.reset(seed=0)
    before, _, _, truncated, _ = env.step(("look", "look"))
    assert truncated.tolist() == [True, False]
    after, info = env.reset(options={"reset_mask": truncated})
    assert "Your task is to" in after[0]
    assert after[1] == before[1]
    assert info["_task"].tolist() == [True, False]
    *_, truncated, _ = env.step(("look", "look"))
    assert truncated.tolist() == [True, False]
    env.close()


def test_returned_observations_are_not_overwritten_by_the_next_step():
    env = AsyncVectorEnv(makers("rla/AlfWorld-v0"), shared_memory=True)
    first, _ = env.reset(seed=0)
    kept = tuple(first)
    second, *_ = env.step(("look", "inventory", "sing"))
    assert first == kept
    assert second[1:] == ("You are not carrying anything.", "Nothing happens.")
    env.close()


def test_without_copy_the_observations_are_a_live_view():
    env = AsyncVectorEnv(makers("rla/AlfWorld-v0"), shared_memory=True, copy=False)
    env.reset(seed=0)
    observations, *_ = env.step(("look", "inventory", "sing"))
    assert list(observations)[1:] == ["You are not carrying anything.", "Nothing happens."]
    env.close()


def test_spawned_workers_give_the_same_as_forked_ones():
    makers_ = [lambda: gymnasium.make("rla_envs:rla/AlfWorld-v0", max_steps=3)] * 2
    spawned = AsyncVectorEnv(makers_, context="spawn")
    assert data_equivalence(play(SyncVectorEnv(makers_)), play(spawned), exact=True)


def test_spaces_that_differ_can_be_batched():
    env = SyncVectorEnv(makers("rla/AlfWorld-v0", n=2), observation_mode="different")
    observations, _ = env.reset(seed=0)
    assert observations in env.observation_space
    env.close()


@every_id
def test_make_vec_works(env_id):
    for mode in ("sync", "async"):
        options = budget(env_id, 2)
        env = gymnasium.make_vec(env_id, num_envs=2, vectorization_mode=mode, **options)
        observations, info = env.reset(seed=0)
        assert observations in env.observation_space
        assert env.action_space.sample() in env.action_space
        *_, info = env.step(("look", "look"))
        *_, terminated, truncated, info = env.step(("look", "look"))
        assert (terminated | truncated).tolist() == [True, True]
        assert info["outcome"].tolist() == [-1, -1]
        env.close()
