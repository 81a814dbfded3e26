"""A word-level tokenizer with a minimal chat template, saved as an ordinary Hugging Face folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from rla_envs.errors import ConfigError
from rla_envs.types import Conversation

PAD, BOS, EOS, UNK = "<pad>", "<bos>", "<eos>", "<unk>"
ROLES = {"system": "<system>", "user": "<user>", "assistant": "<assistant>"}
SPECIAL = (PAD, BOS, EOS, UNK, *ROLES.values())

WORD = r"\\boxed\{[^{}\s]*\}|in/on|[+-]\d+|\w+|[^\w\s]"
"""One token: a boxed verdict, "in/on", a signed number, a word or number, or a single mark."""

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<' + message['role'] + '>' + message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
)

_NO_BLANK_BEFORE = ".,:;!?)]"
_NO_BLANK_AFTER = "(["


def split_words(text: str) -> list[str]:
    """Return the lower-case words of text as the tokenizer splits them."""
    return re.findall(WORD, text.lower())


def build_tokenizer(words: Iterable[str]) -> PreTrainedTokenizerFast:
    """Return a tokenizer whose vocabulary is the special tokens and then words, in the order given.

    Text is lower-cased. Decoding joins words with single blanks and puts none before closing marks,
    so a command comes back letter by letter.

    Raises:
        ConfigError: an entry of words is not exactly one token, so that it could never be produced
            by encoding.
    """
    vocabulary = list(dict.fromkeys([*SPECIAL, *(word.lower() for word in words)]))
    for word in vocabulary[len(SPECIAL) :]:
        if split_words(word) != [word]:
            raise ConfigError(
                f"vocabulary entry {word!r} is not one word; pass texts through words_in() first"
            )
    backend = Tokenizer(
        WordLevel({word: index for index, word in enumerate(vocabulary)}, unk_token=UNK)
    )
    backend.normalizer = normalizers.Lowercase()
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(WORD), behavior="removed", invert=True)
    glue = [decoders.Replace(f" {mark}", mark) for mark in _NO_BLANK_BEFORE]
    glue += [decoders.Replace(f"{mark} ", mark) for mark in _NO_BLANK_AFTER]
    backend.decoder = decoders.Sequence(
        [decoders.WordPiece(prefix="\0", cleanup=False), decoders.Fuse(), *glue]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token=PAD,
        bos_token=BOS,
        eos_token=EOS,
        unk_token=UNK,
        additional_special_tokens=list(ROLES.values()),
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
    )


class ChatCodec:
    """Conversations to token ids and back, equal to the chat template but without Jinja.

    Two things differ on purpose from ``apply_chat_template``: text that merely looks like a special
    token ("<eos>" in an observation) is split as ordinary text and can't end a turn, and the ids of
    a message that was seen before come from a cache.

    Raises:
        ConfigError: the tokenizer lacks the special tokens of ``build_tokenizer``.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast, *, cache: int = 65_536) -> None:
        backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        backend.encode_special_tokens = True
        vocabulary = backend.get_vocab()
        missing = [token for token in SPECIAL if token not in vocabulary]
        if missing:
            raise ConfigError(
                f"tokenizer lacks the special tokens {missing}; make it with build_tokenizer()"
            )
        self.pad, self.bos, self.eos = (vocabulary[token] for token in (PAD, BOS, EOS))
        self.stops = frozenset({self.eos})
        self._roles = {role: vocabulary[token] for role, token in ROLES.items()}
        self._backend = backend
        self._ids = lru_cache(maxsize=cache)(self._encode_text)
        self._text = lru_cache(maxsize=cache)(self._decode_ids)

    def prompt(self, conversation: Conversation) -> tuple[int, ...]:
        """Return the ids of the conversation followed by the assistant's role token."""
        ids = [self.bos]
        for message in conversation:
            ids.append(self._roles[message["role"]])
            ids.extend(self._ids(message["content"]))
            if message["role"] == "assistant":
                ids.append(self.eos)
        ids.append(self._roles["assistant"])
        return tuple(ids)

    def reply(self, text: str) -> tuple[int, ...]:
        """Return the ids of an assistant's reply, the end token included."""
        return (*self._ids(text), self.eos)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids without special tokens."""
        return self._text(tuple(ids))

    def _encode_text(self, text: str) -> tuple[int, ...]:
        return tuple(self._backend.encode(text, add_special_tokens=False).ids)

    def _decode_ids(self, ids: tuple[int, ...]) -> str:
        return self._backend.decode(list(ids), skip_special_tokens=True)
