"""vLLM in this process: token ids in, token ids and log-probabilities out."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from rla_adapters.hf_codec import HfCodec
from rla_adapters.sampling import check_request, cut_completion
from rla_envs.types import Completion, Conversation, Sampling


class VllmChatModel:
    """Policy or judge in a vLLM engine of this process (``rla_envs.types.ChatModel``).

    The engine shares a prompt among its n completions and keeps prefixes from call to call. With a
    seed a request is reproducible up to what else is in the batch: rounding can move a token whose
    random number falls close to a boundary. Calls from several threads take turns.

    Args:
        folder: A Hugging Face folder.
        sampling: Default of ``sample``.
        context: Longest sequence, in tokens; the model's own when None.
        dtype: Of the weights; log-probabilities of 16 bits are exact to about 1e-2.
        engine: Further arguments of ``vllm.LLM``, such as tensor_parallel_size.
    """

    def __init__(
        self,
        folder: Path,
        *,
        sampling: Sampling | None = None,
        context: int | None = None,
        dtype: str = "float32",
        **engine: Any,
    ) -> None:
        from vllm import LLM  # pyright: ignore[reportMissingImports]

        self.codec = HfCodec.load(folder)
        self.sampling = sampling or Sampling()
        self.lock = threading.RLock()
        self.engine = LLM(
            model=str(folder),
            dtype=dtype,
            max_model_len=context,
            # Those of the sampling temperature, as the trainer computes them.
            logprobs_mode="processed_logprobs",
            **{"disable_log_stats": True, **engine},
        )
        self.context = int(self.engine.model_config.max_model_len)

    def sample(
        self,
        conversations: Sequence[Conversation],
        *,
        n: int = 1,
        sampling: Sampling | None = None,
        seeds: Sequence[int] | None = None,
    ) -> list[list[Completion]]:
        """Return n completions for each conversation, in order (see ``ChatModel.sample``).

        Raises:
            ConfigError: n < 1, a temperature below 0, or another number of seeds than
                conversations.
        """
        sampling = sampling or self.sampling
        check_request(conversations, n, sampling, seeds)
        prompts = [self.codec.prompt(conversation) for conversation in conversations]
        results = [
            [Completion(text="", prompt_ids=prompt, stop="overflow")] * n for prompt in prompts
        ]
        fitting = [i for i, prompt in enumerate(prompts) if len(prompt) < self.context]
        if not fitting:
            return results
        with self.lock:
            answers = self.engine.generate(
                [{"prompt_token_ids": list(prompts[i])} for i in fitting],
                [
                    self._parameters(len(prompts[i]), n, sampling, seeds[i] if seeds else None)
                    for i in fitting
                ],
                use_tqdm=False,
            )
        for i, answer in zip(fitting, answers, strict=True):
            results[i] = [self._completion(prompts[i], output) for output in answer.outputs]
        return results

    def load_weights(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        """Take over weights, named as in the folder, and forget what was cached of the old ones."""
        with self.lock:
            # Not model.load_weights: on a CPU the engine has repacked its own (docs/models.md).
            self.engine.collective_rpc("reload_weights", kwargs={"weights_iterator": list(weights)})
            self.engine.reset_prefix_cache()

    def close(self) -> None:
        """Stop the engine."""
        self.engine.llm_engine.engine_core.shutdown()

    def _parameters(self, prompt: int, n: int, sampling: Sampling, seed: int | None) -> Any:
        from vllm import SamplingParams  # pyright: ignore[reportMissingImports]

        return SamplingParams(
            n=n,
            temperature=sampling.temperature,
            max_tokens=min(sampling.max_tokens, self.context - prompt),
            seed=None if seed is None else seed % 2**63,
            logprobs=0,
            stop_token_ids=sorted(self.codec.stops),
        )

    def _completion(self, prompt: tuple[int, ...], output: Any) -> Completion:
        ids = list(output.token_ids)
        values = [step[token].logprob for step, token in zip(output.logprobs, ids, strict=True)]
        return cut_completion(prompt, ids, values, codec=self.codec, context=self.context)
