"""Our environments in your own TRL script, in two ways.

    python examples/trl_grpo.py MODEL_FOLDER --way rollout   # TRL's rollout_func: reward an episode
    python examples/trl_grpo.py MODEL_FOLDER --way steps     # an advantage for every step

MODEL_FOLDER is any Hugging Face folder with a chat template. It needs the extras train and trl.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import rla_task_sets
import torch
from datasets import Dataset
from rla_adapters.grpo.trainer import StepGRPOTrainer
from rla_adapters.hf import HfChatModel
from trl import GRPOConfig, GRPOTrainer

from rla_envs.credit import step_advantages
from rla_envs.prompts.alfworld import CompactPrompts
from rla_envs.rollout import EnvSpec, collect, make_pool
from rla_envs.samples import training_sample
from rla_envs.types import Group, Sampling, Step, TrainingSample

TURNS = 4
MAX_TOKENS = 6
COMMON = {
    "bf16": False,
    "activation_checkpointing": False,
    "num_generations": 4,
    "per_device_train_batch_size": 8,
    "learning_rate": 1e-4,
    "lr_scheduler_type": "constant",
    "logging_steps": 1,
    "report_to": [],
    "save_strategy": "no",
    "max_steps": 2,
}
"""Sampling is left at temperature 1, top_p 1, top_k off: the trainer's distribution."""


def likeness(action: str, admissible: list[str]) -> float:
    """Return the share of an action's words that some admissible command has, in [0, 1].

    A shaping reward of this example, so that an untrained model has something to learn.
    """
    words = action.split()
    known = {word for command in admissible for word in command.split()}
    return sum(word in known for word in words) / len(words) if words else 0.0


def rollout(prompts: list[Any], trainer: GRPOTrainer) -> dict[str, list[Any]]:
    """Play one episode a prompt, which is a seed; see TRL's ``rollout_func``.

    The whole episode is one row: tokens of the environment have ``env_mask`` 0. Ids are kept as
    they were sampled and never encoded again.
    """
    tokenizer: Any = trainer.processing_class
    network: Any = trainer.accelerator.unwrap_model(trainer.model)
    rows: dict[str, list[Any]] = {
        name: [] for name in ("prompt_ids", "completion_ids", "logprobs", "env_mask", "reward")
    }
    env = gymnasium.make("rla_envs:rla/AlfWorld-v0", view="compact", max_steps=TURNS)
    for prompt in prompts:
        observation, info = env.reset(seed=int(prompt))
        prompt_ids = said(tokenizer, observation)
        ids, logprobs, mask, total = [], [], [], 0.0
        for turn in range(TURNS):
            sampled, values = complete(network, tokenizer, prompt_ids + ids)
            ids += sampled
            logprobs += values
            mask += [1] * len(sampled)
            action = tokenizer.decode(sampled, skip_special_tokens=True).strip()
            total += likeness(action, info["admissible_commands"])
            observation, reward, terminated, truncated, info = env.step(action)
            total += float(reward)
            if terminated or truncated or turn == TURNS - 1:
                break
            told = said(tokenizer, observation)
            ids, logprobs, mask = ids + told, logprobs + [0.0] * len(told), mask + [0] * len(told)
        for name, value in zip(rows, (prompt_ids, ids, logprobs, mask, total), strict=True):
            rows[name].append(value)
    env.close()
    return rows


def said(tokenizer: Any, text: str) -> list[int]:
    """Return the ids of a user's message and of the assistant's start."""
    chat = [{"role": "user", "content": text}]
    rendered = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    return tokenizer.encode(rendered, add_special_tokens=False)


@torch.no_grad()
def complete(network: Any, tokenizer: Any, ids: list[int]) -> tuple[list[int], list[float]]:
    """Return sampled ids and their log-probabilities."""
    given = torch.tensor([ids], device=network.device)
    result = network.generate(
        given,
        attention_mask=torch.ones_like(given),
        max_new_tokens=MAX_TOKENS,
        do_sample=True,
        top_k=0,
        return_dict_in_generate=True,
        output_scores=True,
        pad_token_id=tokenizer.pad_token_id,
    )
    sampled = result.sequences[0, len(ids) :].tolist()
    scores = torch.stack(result.scores)[:, 0].log_softmax(-1)
    return sampled, [float(scores[t, token]) for t, token in enumerate(sampled)]


def episode_reward(completions: list[Any], reward: list[float], **columns: Any) -> list[float]:
    """Hand TRL what ``rollout`` found."""
    del completions, columns
    return reward


def train_by_rollouts(folder: Path, out: Path) -> GRPOTrainer:
    """Train with TRL's own trainer: episodes of a group are compared as wholes."""
    chat = HfChatModel.load(folder)
    trainer = GRPOTrainer(
        str(folder),
        reward_funcs=episode_reward,
        args=GRPOConfig(str(out), use_cpu=chat.network.device.type == "cpu", **COMMON),
        train_dataset=Dataset.from_dict({"prompt": [str(seed) for seed in range(16)]}),
        processing_class=chat.tokenizer,
        rollout_func=rollout,
    )
    trainer.train()
    return trainer


def step_reward(step: Step) -> float:
    """Return what one step is worth; put your own here, or votes of a judge."""
    return likeness(step.action, list(step.info.get("admissible_commands", ())))


def samples(group: Group) -> list[TrainingSample]:
    """Return a row for every step of a group, with the step's own advantage."""
    scored = [t for t in group.trajectories if t.outcome is not None]
    rewards_GT = [
        np.array([(t.outcome or 0) + step_reward(step) for step in t.steps]) for t in scored
    ]
    advantages_GT = step_advantages(rewards_GT, across="group")
    return [
        sample
        for trajectory, advantages in zip(scored, advantages_GT, strict=True)
        for step, advantage in zip(trajectory.steps, advantages, strict=True)
        for sample in training_sample(step.completion, float(advantage), "policy")
    ]


def train_by_steps(folder: Path, out: Path) -> StepGRPOTrainer:
    """Train with a row and an advantage a step; TRL's loss, accelerate and loggers stay."""
    chat = HfChatModel.load(folder)
    tasks = rla_task_sets.load("alfworld/generated", n=2, seed=0, split="train", size="small")
    spec = EnvSpec(id="rla/AlfWorld-v0", kwargs={"view": "compact", "max_steps": TURNS})
    pool = make_pool(spec, slots=8, workers=0)

    def played(number: int) -> list[TrainingSample]:
        groups = collect(
            chat,
            tasks,
            rollouts=4,
            pool=pool,
            prompts=CompactPrompts(),
            seed=number,
            policy_version=number,
            sampling=Sampling(max_tokens=MAX_TOKENS),
        )
        return [sample for group in groups for sample in samples(group)]

    trainer = StepGRPOTrainer(
        chat.network,
        played,
        GRPOConfig(
            str(out),
            use_cpu=chat.network.device.type == "cpu",
            steps_per_generation=4,
            loss_type="dapo",
            beta=0.01,
            use_bias_correction_kl=False,
            **COMMON,
        ),
        chat.tokenizer,
    )
    try:
        trainer.train()
    finally:
        pool.close()
    return trainer


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Our environments in your own TRL script.")
    parser.add_argument("folder", type=Path, metavar="MODEL_FOLDER")
    parser.add_argument("--way", choices=["rollout", "steps"], default="steps")
    parser.add_argument("--out", type=Path, default=Path("runs/trl"))
    options = parser.parse_args()
    train = train_by_rollouts if options.way == "rollout" else train_by_steps
    print(train(options.folder, options.out).state.log_history[-1])
