"""Conversations to token ids and back, by a Hugging Face tokenizer and its chat template."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from transformers import AutoTokenizer, GenerationConfig, PreTrainedTokenizerFast

from rla_envs.errors import ConfigError, TaskUnavailable
from rla_envs.types import Conversation


class HfCodec:
    """What a transformers or vLLM model is fed, and what its ids mean.

    The prompt is the chat template's, generation prompt included. Text in a message that looks like
    a special token ("<|im_end|>" in an observation) gets a blank after its first character, so that
    it cannot end a turn.

    Args:
        tokenizer: With a chat template.
        stops: Ids that end a completion, next to the tokenizer's own end token.

    Raises:
        ConfigError: the tokenizer has no chat template or no end token.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast, *, stops: Iterable[int] = ()) -> None:
        name = tokenizer.name_or_path
        if not tokenizer.chat_template:
            raise ConfigError(f"{name} has no chat template; take an instruction-tuned model")
        if tokenizer.eos_token_id is None:
            raise ConfigError(f"{name} has no end token; set eos_token in tokenizer_config.json")
        self.tokenizer = tokenizer
        self.eos = int(str(tokenizer.eos_token_id))
        self.stops = frozenset({self.eos, *stops})
        special = {str(token) for token in tokenizer.added_tokens_decoder.values() if token.special}
        longest_first = sorted(special, key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        # A fast tokenizer raises "Already borrowed" when two threads meet in it.
        self._lock = threading.Lock()

    @classmethod
    def load(cls, folder: Path) -> HfCodec:
        """Return the codec of a Hugging Face folder.

        Raises:
            TaskUnavailable: folder holds no tokenizer.
        """
        if not (folder / "tokenizer_config.json").is_file():
            raise TaskUnavailable(
                f"no tokenizer in {folder} (tokenizer_config.json is missing);"
                " name the folder of a Hugging Face model"
            )
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        ends: int | list[int] | None = None
        if (folder / "generation_config.json").is_file():
            ends = GenerationConfig.from_pretrained(folder).eos_token_id
        return cls(tokenizer, stops=[ends] if isinstance(ends, int) else ends or ())

    def prompt(self, conversation: Conversation) -> tuple[int, ...]:
        """Return the ids of the conversation, up to where the assistant's reply begins."""
        messages = [
            {"role": message["role"], "content": self._defused(message["content"])}
            for message in conversation
        ]
        with self._lock:
            text = self.tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True
            )
            return tuple(self.tokenizer(str(text), add_special_tokens=False)["input_ids"])

    def reply(self, text: str) -> tuple[int, ...]:
        """Return the ids of an assistant's reply, the end token included."""
        with self._lock:
            ids = self.tokenizer(self._defused(text), add_special_tokens=False)["input_ids"]
        return (*ids, self.eos)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids without special tokens."""
        with self._lock:
            return str(self.tokenizer.decode(list(ids), skip_special_tokens=True))

    def _defused(self, text: str) -> str:
        return self._special.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)
