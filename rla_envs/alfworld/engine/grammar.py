"""The words of the game: known grammars, names of entities, and the grammar text we write.

ALFWorld has published three grammars with one vocabulary: those of the official games and of
``alfworld-generate`` (both say "move mug 1 to desk 1" and read the same), and the older one ("put
mug 1 in/on desk 1", arrivals name the location, no ``help``). The engine has their sentences
compiled in, so a grammar is only recognised here, never interpreted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from typing import Literal

from ...errors import TaskError

Syntax = Literal["move", "put"]
"""How a thing is put down: "move mug 1 to desk 1" or "put mug 1 in/on desk 1"."""

_TASK = re.compile(r'"Your task is to: ((?:[^"\\]|\\.)*)"')
_COMMENT = re.compile(r";.*")
_SPECIAL = re.compile(r'[;|<>\[\]#{}"\\\n\t]')
_HELP_ACTION = re.compile(r"\n( ?\(:?|)action help\b.*?\n(?=\n)", re.DOTALL)

_GRAMMARS: dict[str, Syntax] = {
    "8c09b8c8d413400b": "move",  # official games (json_2.1.1)
    "4630bf5631830dfa": "move",  # written by alfworld-generate 0.4
    "3bf002a75f243f62": "put",  # written by ALFWorld 0.2 and 0.3
}
_DOMAINS = {
    "9549a55d7ecd967f",  # official games (json_2.1.1)
    "68c0c8ed4392a559",  # alfworld 0.4: does not clean in a receptacle of type Sink
    "c398bac7936b4387",  # ALFWorld 0.2 and 0.3: no help
}

HELP = """\
Available commands:
  look:                             look around your current location
  inventory:                        check your current inventory
  go to (receptacle):               move to a receptacle
  open (receptacle):                open a receptacle
  close (receptacle):               close a receptacle
  take (object) from (receptacle):  take an object from a receptacle
  move (object) to (receptacle):  place an object in or on a receptacle
  examine (something):              examine a receptacle or an object
  use (object):                     use an object
  heat (object) with (receptacle):  heat an object using a receptacle
  clean (object) with (receptacle): clean an object using a receptacle
  cool (object) with (receptacle):  cool an object using a receptacle
  slice (object) with (object):     slice an object using a sharp object
"""


def read_grammar(grammar: str, domain: str) -> tuple[Syntax, str]:
    """Return the syntax of a game file and its task sentence, full stop included.

    Args:
        grammar: The game's ``grammar``.
        domain: The game's ``pddl_domain``.

    Raises:
        TaskError: grammar or domain is none of those whose behaviour is compiled in.
    """
    task = _TASK.search(grammar)
    own_grammars, own_domains = _own_digests()
    syntax = None
    if task is not None:
        digest = _digest(_TASK.sub("TASK", grammar))
        syntax = _GRAMMARS.get(digest) or own_grammars.get(digest)
    if syntax is None:
        raise TaskError(
            "the game's grammar is not one that ALFWorld or rla_envs has published, so the "
            'embedded engine cannot promise its text; run the game with engine="textworld"'
        )
    if _domain_digest(domain) not in _DOMAINS | own_domains:
        raise TaskError(
            "the game's pddl_domain is not one that ALFWorld or rla_envs has published, so the "
            'embedded engine cannot promise its rules; run the game with engine="textworld"'
        )
    assert task is not None
    return syntax, json.loads(f'"{task[1]}"')


def write_grammar(syntax: Syntax, instruction: str) -> str:
    """Return grammar text for the real engine that reads as the embedded engine does.

    Raises:
        TaskError: the instruction holds a character that means something in a grammar.
    """
    if found := _SPECIAL.search(instruction):
        raise TaskError(
            f"instruction {instruction!r} contains {found[0]!r}, which a TextWorld grammar cannot "
            "print; use plain words"
        )
    text = _resource("room.twl2")
    if syntax == "move":
        words = {"ARRIVAL": "r", "PUT": "move {o} to {r}"}
        words["PLACED"] = "You move the {o.name} to the {r.name}."
    else:
        text = _HELP_ACTION.sub("", text)
        words = {"ARRIVAL": "lend", "PUT": "put {o} in/on {r}"}
        words["PLACED"] = "You put the {o.name} in/on the {r.name}."
    words |= {"HELP": json.dumps(HELP)[1:-1], "INSTRUCTION": json.dumps(instruction)[1:-1]}
    for key, value in words.items():
        text = text.replace(f"<{key}>", value)
    return text


def write_domain(syntax: Syntax) -> str:
    """Return the PDDL domain that goes with write_grammar."""
    domain = _resource("room.pddl")
    return domain if syntax == "move" else _HELP_ACTION.sub("", domain)


def name_entities(ids: Iterable[str]) -> dict[str, str]:
    """Return what the player calls each entity: id -> "mug 2".

    The type is what stands before the first ``_bar_`` ("sinkbasin" for a sink's basin). Entities of
    one type are numbered from 1, in falling alphabetical order of their lower-case ids. So a new
    entity can rename others: name a whole room at once. Receptacles and items share the numbering.

    Args:
        ids: PDDL names of all receptacles and items of a room (or of all its locations).

    Raises:
        TaskError: an id has no ``_bar_``.
    """
    typed: list[tuple[str, str]] = []
    for id_ in sorted(ids, key=str.lower):
        head, bar, _ = id_.lower().partition("_bar_")
        if not bar:
            raise TaskError(f"id {id_!r} must have the form Type_bar_..., e.g. Mug_bar_1")
        typed.append((id_, head + "basin" if "basin" in id_.lower() else head))
    left = Counter(type_ for _, type_ in typed)
    names: dict[str, str] = {}
    for id_, type_ in typed:
        names[id_] = f"{type_} {left[type_]}"
        left[type_] -= 1
    return names


def listing(names: Iterable[str]) -> str:
    """Return names as the game lists them: "nothing", "a", "a, and b", "a, b, and c"."""
    words = list(names)
    if len(words) < 2:
        return words[0] if words else "nothing"
    return f"{', '.join(words[:-1])}, and {words[-1]}"


def _digest(text: str) -> str:
    """Return a digest that ignores how the text is wrapped and indented."""
    return sha256(" ".join(text.split()).encode()).hexdigest()[:16]


@lru_cache(maxsize=8)
def _domain_digest(domain: str) -> str:
    return _digest(_COMMENT.sub("", domain))


@lru_cache(maxsize=1)
def _own_digests() -> tuple[dict[str, Syntax], set[str]]:
    syntaxes: tuple[Syntax, ...] = ("move", "put")
    texts = {syntax: _TASK.sub("TASK", write_grammar(syntax, "")) for syntax in syntaxes}
    domains = {_domain_digest(write_domain(syntax)) for syntax in syntaxes}
    return {_digest(text): syntax for syntax, text in texts.items()}, domains


@lru_cache(maxsize=2)
def _resource(name: str) -> str:
    return (files(__package__) / "data" / name).read_text(encoding="utf-8")
