"""Sampling and training of the embedded models against plain transformers, in one process.

Usage: python benchmarks/tiny_model.py

Peers: ``model.generate`` on a left-padded batch, and a padded Hugging Face forward and backward
pass with the same loss. Same weights, same prompts (real compact views), one thread, CPU seconds.
"""

from __future__ import annotations

from time import process_time

import rla_task_sets
import torch
from rla_adapters import load_model, load_trainer
from rla_adapters.alfworld_warm_start import demonstrations, policy_rows
from rla_adapters.native.loss import clipped_surrogate, sample_means
from rla_adapters.tiny.sampler import TinyChatModel

from rla_envs.types import Sampling, TrainingSample

BATCH = 64
NEW_TOKENS = 8


def seconds(work) -> float:
    """Return the least CPU seconds of three calls, after one to warm up."""
    work()
    times = []
    for _ in range(3):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def generate(chat: TinyChatModel, prompts, n: int) -> None:
    """Sample as a plain transformers user would."""
    longest = max(map(len, prompts))
    pad = chat.codec.pad
    ids = torch.tensor([[pad] * (longest - len(p)) + list(p) for p in prompts])
    chat.network.generate(
        ids,
        attention_mask=(ids != pad).long(),
        do_sample=True,
        top_k=0,
        max_new_tokens=NEW_TOKENS,
        num_return_sequences=n,
        return_dict_in_generate=True,
        output_scores=True,  # the log-probabilities that a trainer needs
    )


def naive_update(network, optimizer, samples, pad: int) -> None:
    """Two epochs of the clipped surrogate on one padded batch a minibatch."""
    for _ in range(2):
        for start in range(0, len(samples), BATCH):
            part = samples[start : start + BATCH]
            rows = [s.prompt_ids + s.token_ids for s in part]
            longest = max(map(len, rows))
            ids = torch.tensor([list(row) + [pad] * (longest - len(row)) for row in rows])
            logits = network(ids, attention_mask=(ids != pad).long()).logits[:, :-1]
            logprobs = torch.log_softmax(logits, -1).gather(-1, ids[:, 1:, None]).squeeze(-1)
            mask = torch.zeros_like(logprobs, dtype=torch.bool)
            for r, sample in enumerate(part):
                first = len(sample.prompt_ids) - 1
                mask[r, first : first + len(sample.token_ids)] = True
            gains = torch.tensor([s.advantage for s in part])
            loss = clipped_surrogate(logprobs, logprobs.detach(), gains, clip=0.2)
            optimizer.zero_grad()
            sample_means(loss, mask).mean().backward()
            optimizer.step()


def main() -> None:
    """Print the ratios."""
    torch.set_num_threads(1)
    tasks = rla_task_sets.load("alfworld/generated", n=30, seed=3, split="train", size="small")
    rows = policy_rows(demonstrations(tasks, noise=0.4, max_steps=20, seed=0))[:256]
    chat = load_model("tiny:nano", seed=0)
    conversations = [row[0] for row in rows[:BATCH]]
    prompts = [chat.codec.prompt(conversation) for conversation in conversations]
    print(f"nano, {BATCH} prompts of {sum(map(len, prompts)) / BATCH:.0f} tokens on average")
    sampling = Sampling(max_tokens=NEW_TOKENS)
    for n in (1, 3):
        ours = seconds(lambda n=n: chat.sample(conversations, n=n, sampling=sampling))
        peer = seconds(lambda n=n: generate(chat, prompts, n))
        print(
            f"sample, n={n}: {BATCH * n / ours:.0f} completions/s, "
            f"transformers generate {BATCH * n / peer:.0f}, ratio {peer / ours:.1f}"
        )
    samples = [
        TrainingSample(
            prompt_ids=chat.codec.prompt(conversation),
            token_ids=chat.codec.reply(reply),
            logprobs=(),
            advantage=1.0 if i % 2 else -1.0,
            source="policy",
        )
        for i, (conversation, reply, _) in enumerate(rows)
    ]
    trainer = load_trainer("native", chat)
    ours = seconds(lambda: trainer.update(samples))
    optimizer = torch.optim.AdamW(chat.network.parameters(), lr=1e-5)
    peer = seconds(lambda: naive_update(chat.network, optimizer, samples, chat.codec.pad))
    print(
        f"update of {len(samples)} samples, two epochs: {len(samples) / ours:.0f} samples/s "
        f"(old log-probabilities, entropy and KL included), "
        f"padded transformers {len(samples) / peer:.0f}, ratio {peer / ours:.1f}"
    )
    # The judge: three votes on one prompt.
    votes = [s for s in samples[:BATCH] for _ in range(3)]
    prompt = sum(len(s.prompt_ids) for s in votes[::3])
    reply = sum(len(s.token_ids) for s in votes)
    print(
        f"three votes a step: {prompt + reply} tokens computed with one shared prompt, "
        f"{3 * prompt + reply} with a call a vote, "
        f"ratio {(3 * prompt + reply) / (prompt + reply):.1f}"
    )


if __name__ == "__main__":
    main()
