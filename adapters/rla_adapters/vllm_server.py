"""A vLLM server: token ids in, token ids and log-probabilities out.

Start it so that log-probabilities are those of the sampling temperature and nothing but the request
says how to sample:

    python -m vllm.entrypoints.openai.api_server --model FOLDER \
        --logprobs-mode processed_logprobs --generation-config vllm
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import openai

from rla_adapters.hf_codec import HfCodec
from rla_adapters.openai_api import Service
from rla_adapters.sampling import check_request, cut_completion
from rla_envs.errors import ConfigError, ModelError
from rla_envs.types import Completion, Conversation, Sampling


class VllmServerModel:
    """Policy or judge behind vLLM's ``/completions`` (``rla_envs.types.ChatModel``).

    Prompts are tokenized here and sent as ids, so that what is trained on is what was sampled.
    With a seed a request is reproducible up to what else is in the server's batch: rounding can
    move a token whose random number falls close to a boundary.

    Args:
        base_url: Ends with "/v1".
        model: Name under which the server serves it.
        tokenizer: Folder of its tokenizer; None takes the folder that the server names, which then
            has to be readable from here.
        sampling: Default of ``sample``.
        service: Connection settings; those of ``Service`` when None.

    Raises:
        ModelError: no answer, or the server has no such model.
        ConfigError: the server's folder cannot be read from here, and no tokenizer is given.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        tokenizer: Path | None = None,
        sampling: Sampling | None = None,
        service: Service | None = None,
    ) -> None:
        self.service = service or Service(base_url)
        self.model, self.sampling = model, sampling or Sampling()
        served: Any = self.service.ask(lambda client: list(client.models.list()))
        found: Any = next((card for card in served if card.id == model), None)
        if found is None:
            names = ", ".join(card.id for card in served)
            raise ModelError(f"{base_url} serves {names}, not {model!r}")
        folder = tokenizer or Path(str(getattr(found, "root", "")))
        if not (folder / "tokenizer_config.json").is_file():
            raise ConfigError(
                f"{base_url} serves {model!r} from {folder}, which has no tokenizer here; name its"
                f" folder: '{base_url} {model} FOLDER'"
            )
        self.codec = HfCodec.load(folder)
        self.context = int(found.max_model_len)

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
            ModelError: the server cannot be reached, does not take the request, or answers without
                token ids.
        """
        sampling = sampling or self.sampling
        check_request(conversations, n, sampling, seeds)
        prompts = [self.codec.prompt(conversation) for conversation in conversations]
        fitting = [i for i, prompt in enumerate(prompts) if len(prompt) < self.context]
        answers = self.service.ask_all(
            [self._request(prompts[i], n, sampling, seeds[i] if seeds else None) for i in fitting]
        )
        results = [
            [Completion(text="", prompt_ids=prompt, stop="overflow")] * n for prompt in prompts
        ]
        for i, answer in zip(fitting, answers, strict=True):
            if answer is None:
                raise ModelError(f"{self.service.base_url} has less context than {self.context}")
            results[i] = [self._completion(prompts[i], choice) for choice in answer.choices]
        return results

    def _request(
        self, prompt: tuple[int, ...], n: int, sampling: Sampling, seed: int | None
    ) -> Callable[[openai.OpenAI], Any]:
        return lambda client: client.completions.create(
            model=self.model,
            prompt=list(prompt),
            n=n,
            temperature=sampling.temperature,
            max_tokens=min(sampling.max_tokens, self.context - len(prompt)),
            seed=None if seed is None else seed % 2**63,
            logprobs=0,
            top_p=1.0,
            extra_body={
                "return_token_ids": True,
                "top_k": -1,
                "min_p": 0.0,
                "stop_token_ids": sorted(self.codec.stops),
            },
        )

    def _completion(self, prompt: tuple[int, ...], choice: Any) -> Completion:
        ids = getattr(choice, "token_ids", None)
        if ids is None or choice.logprobs is None:
            raise ModelError(
                f"{self.service.base_url} answers without token ids or log-probabilities; it has to"
                " be a vLLM server, or use openai:MODEL@URL for a judge that is not trained"
            )
        return cut_completion(
            prompt, ids, choice.logprobs.token_logprobs, codec=self.codec, context=self.context
        )
