"""Sampling, training and judging with the embedded models against plain ways to do the same.

    python benchmarks/tiny_model.py [--model nano] [--rounds 5]

Peers: transformers' ``generate`` on a left-padded batch; a right-padded transformers forward and
backward pass with the same loss, optimiser and minibatch; a judge that is called once a vote. Same
weights and prompts (compact views of generated games), one process, one thread. Peers take turns,
and each one's least CPU seconds count. The models are fitted to demonstrations first, for ten
epochs, so that replies have the length that they have in a run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from copy import deepcopy
from time import process_time

import rla_task_sets
import torch
from rla_adapters import load_model
from rla_adapters.domains.alfworld_warm_start import demonstrations, judge_rows, policy_rows
from rla_adapters.native.loss import clipped_surrogate, k3, mismatch_weights, sample_means
from rla_adapters.native.supervised import FitConfig, Row, fit
from rla_adapters.native.trainer import NativeTrainer, PpoConfig
from rla_adapters.tiny.sampler import TinyChatModel
from torch import Tensor

from rla_envs.types import Completion, Conversation, Sampling, TrainingSample

BATCH = 64
SAMPLES = 256
VOTES = 3
SAMPLING = Sampling(max_tokens=16)
CONFIG = PpoConfig(lr=2e-4)


def main() -> None:
    """Print all rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="nano", help="preset of the models")
    parser.add_argument("--rounds", type=int, default=5, help="calls of each peer")
    options = parser.parse_args()
    torch.set_num_threads(1)
    tasks = rla_task_sets.load("alfworld/generated", n=20, seed=3, split="train", size="small")
    trajectories = demonstrations(tasks, noise=0.4, max_steps=30, seed=0)
    policy, conversations = fitted(options.model, policy_rows(trajectories))
    compare_sampling(policy, spread(conversations, BATCH), options.rounds)
    compare_updates(policy, spread(conversations, SAMPLES), options.rounds)
    judge, conversations = fitted(options.model, judge_rows(trajectories, label_noise=0, seed=0))
    compare_votes(judge, spread(conversations, BATCH), options.rounds)


def fitted(preset: str, rows: Sequence[Row]) -> tuple[TinyChatModel, list[Conversation]]:
    """Return a model that knows how long replies are, and prompts for it."""
    chat = load_model(f"tiny:{preset}", seed=0)
    fit(chat, rows, FitConfig(epochs=10, minibatch=32))
    return chat, [conversation for conversation, _, _ in rows]


def spread(conversations: list[Conversation], count: int) -> list[Conversation]:
    """Return count of the conversations, from all episodes."""
    return [conversations[i * len(conversations) // count] for i in range(count)]


def compare_sampling(chat: TinyChatModel, conversations: list[Conversation], rounds: int) -> None:
    """Print completions/s of a batch, with 1 and 3 completions a prompt."""
    prompts = [chat.codec.prompt(conversation) for conversation in conversations]
    tokens = sum(map(len, prompts)) / len(prompts)
    print(f"sampling, {len(prompts)} prompts of {tokens:.0f} tokens on average")
    seeds = range(len(prompts))
    for n in (1, VOTES):
        completions = chat.sample(conversations, n=n, sampling=SAMPLING, seeds=seeds)
        lengths = [len(c.token_ids) for cs in completions for c in cs]
        generated = (generate(chat, prompts, n) != chat.codec.pad).sum(dim=1).double().mean()
        ours, peer = seconds(
            lambda n=n: chat.sample(conversations, n=n, sampling=SAMPLING, seeds=seeds),
            lambda n=n: generate(chat, prompts, n),
            rounds=rounds,
        )
        report(f"  completions/s, n={n}", n * len(prompts), ours, peer)
        print(f"    tokens a reply: {sum(lengths) / len(lengths):.1f}, peer {generated:.1f}")


def generate(chat: TinyChatModel, prompts: Sequence[tuple[int, ...]], n: int) -> Tensor:
    """Return replies [n * prompts, T] of transformers' sampler, padded after the end token."""
    longest, pad = max(map(len, prompts)), chat.codec.pad
    ids = torch.tensor([(pad,) * (longest - len(prompt)) + prompt for prompt in prompts])
    torch.manual_seed(0)
    result = chat.network.generate(  # pyright: ignore[reportAttributeAccessIssue]
        ids,
        attention_mask=(ids != pad).long(),
        do_sample=True,
        top_k=0,
        max_new_tokens=SAMPLING.max_tokens,
        num_return_sequences=n,
        return_dict_in_generate=True,
        output_logits=True,  # What a trainer's log-probabilities come from.
    )
    return result.sequences[:, longest:]


def compare_updates(chat: TinyChatModel, conversations: list[Conversation], rounds: int) -> None:
    """Print samples/s of an update on replies that the model drew, after checking the gradients."""
    drawn = chat.sample(conversations, sampling=SAMPLING, seeds=range(len(conversations)))
    samples = [sample(replies[0], 1.0 if i % 2 else -1.0) for i, replies in enumerate(drawn)]
    whole = PpoConfig(lr=CONFIG.lr, epochs=1, minibatch=len(samples))
    norm = NativeTrainer(copy(chat), whole).update(samples)["grad_norm"]
    plain = PaddedTrainer(copy(chat), whole).update(samples)
    if abs(norm - plain) > 1e-3 * plain:
        raise SystemExit(f"the losses differ: gradient norms {norm} and {plain}")
    trainer, peer_trainer = NativeTrainer(copy(chat), CONFIG), PaddedTrainer(copy(chat), CONFIG)
    ours, peer = seconds(
        lambda: trainer.update(samples), lambda: peer_trainer.update(samples), rounds=rounds
    )
    print(f"update, {len(samples)} samples, {CONFIG.epochs} epochs, minibatch {CONFIG.minibatch}")
    report("  samples/s", len(samples), ours, peer)
    print(f"    gradient norms of one step on all: {norm:.5f}, peer {plain:.5f}")


def copy(chat: TinyChatModel) -> TinyChatModel:
    """Return a model with weights of its own."""
    return TinyChatModel(deepcopy(chat.network), chat.tokenizer)


def sample(completion: Completion, advantage: float) -> TrainingSample:
    """Return a completion as a row for a trainer."""
    return TrainingSample(
        prompt_ids=completion.prompt_ids,
        token_ids=completion.token_ids,
        logprobs=completion.logprobs,
        advantage=advantage,
        source="policy",
    )


class PaddedTrainer:
    """The native trainer's update as a plain loop: prompt and reply of a minibatch as one block.

    Log-probabilities before the update, mismatch weights, the clipped surrogate, the k3 penalty
    and gradient clipping are the same; entropy and counters are left out, and every epoch has the
    same minibatches.
    """

    def __init__(self, chat: TinyChatModel, config: PpoConfig) -> None:
        self.network, self.pad, self.config = chat.network, chat.codec.pad, config
        self.optimizer = torch.optim.AdamW(
            self.network.parameters(), lr=config.lr, weight_decay=config.weight_decay
        )

    def update(self, samples: Sequence[TrainingSample]) -> float:
        """Make one update and return the mean gradient norm."""
        config, norms, size = self.config, [], self.config.minibatch
        parts = [samples[start : start + size] for start in range(0, len(samples), size)]
        with torch.no_grad():
            before = [self.logprobs(part)[0] for part in parts]
        for _ in range(config.epochs):
            for place in torch.randperm(len(parts)).tolist():
                part, old_RT = parts[place], before[place]
                new_RT, mask_RT = self.logprobs(part)
                sampled_RT = old_RT.clone()
                sampled_RT[mask_RT] = torch.tensor([p for s in part for p in s.logprobs])
                gains_R = torch.tensor([s.advantage for s in part])
                surrogate = clipped_surrogate(new_RT, old_RT, gains_R, clip=config.clip)
                surrogate = surrogate * mismatch_weights(old_RT, sampled_RT, cap=config.ratio_cap)
                losses_R = sample_means(surrogate + config.kl * k3(new_RT, old_RT), mask_RT)
                self.optimizer.zero_grad(set_to_none=True)
                losses_R.mean().backward()
                norms.append(
                    torch.nn.utils.clip_grad_norm_(self.network.parameters(), config.max_grad_norm)
                )
                self.optimizer.step()
        return float(torch.stack(norms).mean())

    def logprobs(self, samples: Sequence[TrainingSample]) -> tuple[Tensor, Tensor]:
        """Return log-probabilities of all tokens but the first, and where the replies are."""
        rows = [s.prompt_ids + s.token_ids for s in samples]
        longest = max(map(len, rows))
        ids = torch.tensor([row + (self.pad,) * (longest - len(row)) for row in rows])
        logits = self.network(ids, attention_mask=(ids != self.pad).long()).logits[:, :-1]
        chosen = torch.log_softmax(logits, -1).gather(-1, ids[:, 1:, None]).squeeze(-1)
        places = torch.arange(1, longest)
        prompts = torch.tensor([[len(s.prompt_ids)] for s in samples])
        ends = torch.tensor([[len(row)] for row in rows])
        return chosen, (places >= prompts) & (places < ends)


def compare_votes(chat: TinyChatModel, conversations: list[Conversation], rounds: int) -> None:
    """Print tokens computed, and steps judged a second, with one prompt for all votes of a step."""
    seeds = range(len(conversations))

    def one_call() -> list[list[Completion]]:
        return chat.sample(conversations, n=VOTES, sampling=SAMPLING, seeds=seeds)

    def call_a_vote() -> None:
        for vote in range(VOTES):
            chat.sample(
                conversations, sampling=SAMPLING, seeds=[VOTES * seed + vote for seed in seeds]
            )

    steps = one_call()
    # The last reply token is drawn but never fed.
    fed = sum(len(vote.token_ids) - 1 for votes in steps for vote in votes)
    prompts = [len(votes[0].prompt_ids) for votes in steps]
    # Votes share all of the prompt but its last token, which each one feeds.
    shared = sum(prompts) + (VOTES - 1) * len(steps) + fed
    apart = VOTES * sum(prompts) + fed
    print(
        f"judging, {len(steps)} steps, {VOTES} votes each, "
        f"prompts of {sum(prompts) / len(steps):.0f} tokens on average"
    )
    print(f"  tokens computed: {shared}, a call a vote {apart}, ratio {apart / shared:.1f}")
    ours, peer = seconds(one_call, call_a_vote, rounds=rounds)
    report("  steps/s", len(steps), ours, peer)


def seconds(
    ours: Callable[[], object], peer: Callable[[], object], *, rounds: int
) -> tuple[float, float]:
    """Return the least CPU seconds of each over rounds in which they take turns."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for work, spent in zip((ours, peer), times, strict=True):
            start = process_time()
            work()
            spent.append(process_time() - start)
    return min(times[0]), min(times[1])


def report(name: str, count: int, ours: float, peer: float) -> None:
    """Print rates and their ratio."""
    print(f"{name}: {count / ours:.0f}, peer {count / peer:.0f}, ratio {peer / ours:.1f}")


if __name__ == "__main__":
    main()
