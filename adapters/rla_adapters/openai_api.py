"""Any OpenAI-compatible chat service, as judge or rewriter; its weights are not ours to train."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

import openai

from rla_adapters.sampling import check_request
from rla_envs.errors import ModelError
from rla_envs.types import Completion, Conversation, Sampling

Result = TypeVar("Result")

OVERFLOWS = (
    "context_length_exceeded",
    "maximum context length",
    "context window",
    "too long",
    # vLLM lowers max_tokens to the room that a prompt leaves; we never ask for none.
    "max_tokens must be at least 1, got 0",
)
"""What services say in code or message when a prompt is longer than the context."""


class Service:
    """A connection to an OpenAI-compatible service, shared by threads.

    Args:
        base_url: Ends with "/v1".
        api_key: None takes $OPENAI_API_KEY, as the SDK does, and a service that asks for no key
            gets a placeholder.
        timeout: Seconds a request may take.
        retries: Further tries of a request that the service could not take, with growing pauses.
        concurrency: Requests at a time; vLLM batches what runs at the same time.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeout: float = 600.0,
        retries: int = 2,
        concurrency: int = 64,
    ) -> None:
        self.base_url, self.concurrency = base_url, concurrency
        try:
            self.client = openai.OpenAI(
                base_url=base_url, api_key=api_key, timeout=timeout, max_retries=retries
            )
        except openai.OpenAIError:
            self.client = openai.OpenAI(
                base_url=base_url, api_key="none", timeout=timeout, max_retries=retries
            )

    def ask(self, request: Callable[[openai.OpenAI], Result]) -> Result | None:
        """Return the answer to a request, or None when its prompt is beyond the context.

        Raises:
            ModelError: the service cannot be reached, or does not take the request.
        """
        try:
            return request(self.client)
        except openai.APIConnectionError as error:
            raise ModelError(
                f"no answer from {self.base_url} ({error}); start the server, then go on with"
                " `rla train --resume`"
            ) from error
        except openai.BadRequestError as error:
            said = f"{error.code} {error.message}".lower()
            if any(words in said for words in OVERFLOWS):
                return None
            raise ModelError(f"{self.base_url} refuses the request: {error.message}") from error
        except openai.APIError as error:
            raise ModelError(f"{self.base_url} failed: {error}") from error

    def ask_all(self, requests: Sequence[Callable[[openai.OpenAI], Result]]) -> list[Result | None]:
        """Return the answers to requests in order, many at a time; the first failure is raised."""
        if not requests:
            return []
        with ThreadPoolExecutor(min(len(requests), self.concurrency)) as pool:
            jobs = [pool.submit(self.ask, request) for request in requests]
            try:
                return [job.result() for job in jobs]
            except ModelError:
                pool.shutdown(cancel_futures=True)
                raise


class OpenAIChatModel:
    """Judge or rewriter behind ``/chat/completions`` (``rla_envs.types.ChatModel``).

    Completions carry text, and log-probabilities where the service gives them, but no token ids:
    they can be played, judged and logged, and never train. Seeds are passed on; how far a service
    keeps them is its own affair.

    Args:
        base_url: Ends with "/v1".
        model: The service's name of the model.
        sampling: Default of ``sample``.
        logprobs: Ask for log-probabilities; some services refuse.
        service: Connection settings; those of ``Service`` when None.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        sampling: Sampling | None = None,
        logprobs: bool = False,
        service: Service | None = None,
    ) -> None:
        self.service = service or Service(base_url)
        self.model, self.sampling, self.logprobs = model, sampling or Sampling(), logprobs

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
            ModelError: the service cannot be reached, or does not take the request.
        """
        sampling = sampling or self.sampling
        check_request(conversations, n, sampling, seeds)
        answers = self.service.ask_all(
            [
                self._request(conversation, n, sampling, seeds[i] if seeds else None)
                for i, conversation in enumerate(conversations)
            ]
        )
        return [
            [Completion(text="", stop="overflow")] * n
            if answer is None
            else [_completion(choice) for choice in answer.choices]
            for answer in answers
        ]

    def _request(
        self, conversation: Conversation, n: int, sampling: Sampling, seed: int | None
    ) -> Callable[[openai.OpenAI], Any]:
        more: dict[str, Any] = {"logprobs": True} if self.logprobs else {}
        if seed is not None:
            more["seed"] = seed % 2**31
        return lambda client: cast("Any", client).chat.completions.create(
            model=self.model,
            messages=[dict(message) for message in conversation],
            n=n,
            temperature=sampling.temperature,
            max_tokens=sampling.max_tokens,
            top_p=1.0,
            **more,
        )


def _completion(choice: Any) -> Completion:
    content = choice.logprobs.content if choice.logprobs else None
    return Completion(
        text=choice.message.content or "",
        logprobs=tuple(token.logprob for token in content or ()),
        stop="length" if choice.finish_reason == "length" else "stop",
    )
