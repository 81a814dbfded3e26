"""What a batch of votes saves: m votes that share a prompt, all steps at once, or a call a vote.

    python benchmarks/judging.py
    python benchmarks/judging.py --model smollm2 --episodes 2 --prompts compact

Both ways draw the same votes from the same judge with the same seeds; the benchmark stops unless
they agree. Time is CPU time of this process, so that a busy machine moves it little.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from time import process_time

import torch
from rla_adapters import load_model
from rla_adapters.domains import load_domain
from rla_adapters.domains.alfworld_warm_start import demonstrations

from rla_envs.config import TrainConfig
from rla_envs.judging import ModelJudge
from rla_envs.seeding import derive_seed
from rla_envs.types import ChatModel, Sampling


class Counting:
    """A chat model that counts the tokens that its calls make it compute.

    A prompt counts once a call, however many completions share it; of a completion all tokens
    count.
    """

    def __init__(self, model: ChatModel) -> None:
        self.model, self.tokens, self.calls, self.completions = model, 0, 0, 0

    def sample(self, conversations, *, n=1, sampling=None, seeds=None):
        """Sample, and count."""
        answers = self.model.sample(conversations, n=n, sampling=sampling, seeds=seeds)
        self.calls += 1
        self.completions += sum(map(len, answers))
        self.tokens += sum(map(len, {c.prompt_ids for cs in answers for c in cs}))
        self.tokens += sum(len(c.token_ids) for cs in answers for c in cs)
        return answers


def timed(work: Callable[[], object]) -> tuple[object, float]:
    """Return what work returns, and its CPU seconds."""
    start = process_time()
    result = work()
    return result, process_time() - start


def main() -> None:
    """Print one JSON line for each number of votes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="tiny:nano")
    parser.add_argument("--prompts", choices=["compact", "chat"], default="compact")
    parser.add_argument("--episodes", type=int, default=32)
    parser.add_argument("--steps", type=int, default=20, help="longest episode")
    parser.add_argument("--votes", type=int, nargs="+", default=[3, 5])
    parser.add_argument("--max-tokens", type=int, default=16)
    options = parser.parse_args()
    torch.set_num_threads(1)
    config = replace(TrainConfig(), prompts=options.prompts)
    domain = load_domain(config)
    episodes = demonstrations(
        domain.tasks("train", options.episodes),
        noise=0.4,
        max_steps=options.steps,
        seed=0,
        compact=options.prompts == "compact",
    )
    places = [(t, i) for t, episode in enumerate(episodes) for i in range(len(episode.steps))]
    sampling = Sampling(max_tokens=options.max_tokens)
    model = load_model(options.model)
    model.sample([domain.prompts.judge(episodes[0], 0)], sampling=sampling)
    for votes in options.votes:
        together, apart = Counting(model), Counting(model)
        judge = ModelJudge(together, domain.prompts, votes=votes, sampling=sampling)
        judged, shared = timed(lambda judge=judge: judge.judge(episodes, seed=0))

        def one_by_one(apart: Counting = apart, votes: int = votes) -> list[list[str]]:
            # What is written without a batch: a request a vote, each with the whole prompt.
            answers = []
            for t, i in places:
                chat = domain.prompts.judge(episodes[t], i)
                seed = derive_seed(0, "vote", t, i)
                drawn = [
                    apart.sample([chat], sampling=sampling, seeds=[seed if m == 0 else seed + m])
                    for m in range(votes)
                ]
                answers.append([reply[0][0].text for reply in drawn])
            return answers

        alone, single = timed(one_by_one)
        first = [step.votes[0].completion.text for episode in judged for step in episode.steps]
        same = sum(a == b[0] for a, b in zip(first, alone, strict=True)) / len(first)
        if same < 0.95:
            raise SystemExit(f"the first votes of both ways agree on {same:.0%} of the steps only")
        print(
            json.dumps(
                {
                    "model": options.model,
                    "prompts": options.prompts,
                    "votes": votes,
                    "steps": len(places),
                    "calls": [together.calls, apart.calls],
                    "tokens": [together.tokens, apart.tokens],
                    "tokens_ratio": round(apart.tokens / together.tokens, 2),
                    "cpu_seconds": [round(shared, 2), round(single, 2)],
                    "cpu_ratio": round(single / shared, 2),
                    "votes_per_cpu_second": [
                        round(together.completions / shared, 1),
                        round(apart.completions / single, 1),
                    ],
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
