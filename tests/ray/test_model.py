"""Models on Ray: the completions and votes of one model, whatever dies on the way."""

import os
import signal

import numpy as np
import pytest
import rla_task_sets
from rla_adapters import load_model, load_trainer

from rla_envs.judging import ModelJudge
from rla_envs.prompts.alfworld import CompactPrompts
from rla_envs.rollout import EnvSpec, LocalPool, collect
from rla_envs.types import Completion, Sampling, TrainingSample

pytestmark = pytest.mark.ray

SAMPLING = Sampling(max_tokens=4)
CHATS = [[{"role": "user", "content": f"at: cabinet {i}."}] for i in range(5)]


def ids(completions):
    return [[c.token_ids for c in row] for row in completions]


def logprobs(completions):
    return np.array([p for row in completions for c in row for p in c.logprobs])


@pytest.fixture(scope="module")
def copies(cluster):
    from rla_adapters.ray_workers import RayModel

    copies = RayModel(lambda: load_model("tiny:nano", seed=3, sampling=SAMPLING), actors=2)
    yield copies
    copies.close()


def test_completions_are_those_of_one_model(copies):
    model = load_model("tiny:nano", seed=3, sampling=SAMPLING)
    one = model.sample(CHATS, n=3, seeds=range(5))
    two = copies.sample(CHATS, n=3, seeds=range(5))
    assert ids(two) == ids(one)
    # Batches of other sizes round differently.
    np.testing.assert_allclose(logprobs(two), logprobs(one), atol=1e-5)
    assert copies.sample([], seeds=[]) == []
    assert len(copies.sample(CHATS[:1], n=2)[0]) == 2


def test_judges_on_ray_cast_the_votes_of_one_judge(copies):
    tasks = rla_task_sets.load("alfworld/generated", n=2, seed=0, split="train", size="small")
    spec = EnvSpec(id="rla/AlfWorld-v0", kwargs={"view": "compact", "max_steps": 3})
    prompts = CompactPrompts()
    model = load_model("tiny:nano", seed=3, sampling=SAMPLING)
    groups = collect(model, tasks, rollouts=2, pool=LocalPool(spec, 4), prompts=prompts, seed=0)
    played = [t for group in groups for t in group.trajectories]
    one = ModelJudge(model, prompts, votes=3).judge(played, seed=1)
    two = ModelJudge(copies, prompts, votes=3).judge(played, seed=1)
    assert votes(two) == votes(one)
    assert len(votes(one)) == sum(len(t.steps) for t in played) * 3


def votes(trajectories):
    return [(v.label, v.rationale) for t in trajectories for s in t.steps for v in s.votes]


def test_copies_follow_the_trainer_and_survive_a_kill(copies):
    from rla_adapters.ray_workers import SyncedTrainer

    model = load_model("tiny:nano", seed=3, sampling=SAMPLING)
    trainer = SyncedTrainer(load_trainer("native", model, seed=0), copies)
    before = model.sample(CHATS, seeds=range(5))
    completion: Completion = before[0][0]
    trainer.update(
        [
            TrainingSample(
                prompt_ids=completion.prompt_ids,
                token_ids=completion.token_ids,
                logprobs=completion.logprobs,
                advantage=1.0,
                source="judge",
            )
        ]
    )
    after = model.sample(CHATS, seeds=range(5))
    assert abs(logprobs(after)[0] - logprobs(before)[0]) > 1e-3
    assert trainer.model() is copies
    np.testing.assert_allclose(
        logprobs(copies.sample(CHATS, seeds=range(5))), logprobs(after), atol=1e-5
    )
    os.kill(copies.process_ids()[1], signal.SIGKILL)
    # The replacement has the weights after the update, not those that its maker makes first.
    np.testing.assert_allclose(
        logprobs(copies.sample(CHATS, seeds=range(5))), logprobs(after), atol=1e-5
    )


def test_error_of_the_model_arrives_as_what_it_was(copies):
    with pytest.raises(ValueError, match="n must be"):
        copies.sample(CHATS, n=0, seeds=range(5))
