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
_OFFICIAL_DOMAIN = "9549a55d7ecd967f"  # json_2.1.1
_DOMAINS_WITHOUT_SINK = {
    "68c0c8ed4392a559",  # alfworld-generate 0.4
    "c398bac7936b4387",  # ALFWorld 0.2 and 0.3: no help either
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


def read_grammar(grammar: str) -> tuple[Syntax, str]:
    """Return the syntax of a game's ``grammar`` and the task sentence in it, full stop included.

    Raises:
        TaskError: the grammar is none of those whose text is compiled in.
    """
    if task := _TASK.search(grammar):
        digest = _digest(_TASK.sub("TASK", grammar))
        if syntax := _GRAMMARS.get(digest) or _own_digests()[0].get(digest):
            return syntax, json.loads(f'"{task[1]}"')
    raise TaskError(
        "the game's grammar is not one that ALFWorld or rla_envs has published, so the embedded "
        'engine cannot promise its text; run the game with engine="textworld"'
    )


def check_domain(domain: str, receptacle_types: Iterable[str]) -> None:
    """Refuse a ``pddl_domain`` whose rules are not the compiled-in ones.

    ALFWorld has published two sets of rules. They differ in whether a receptacle of type Sink
    cleans; ordinary rooms have none, but a SinkBasin.

    Raises:
        TaskError: the domain is unknown, or treats a Sink of this room in another way.
    """
    digest = _domain_digest(domain)
    if digest in {_OFFICIAL_DOMAIN, *_own_digests()[1]}:
        return
    if digest in _DOMAINS_WITHOUT_SINK and "Sink" not in receptacle_types:
        return
    raise TaskError(
        "the game's pddl_domain is not one that ALFWorld or rla_envs has published, so the "
        'embedded engine cannot promise its rules; run the game with engine="textworld"'
    )


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
    grammars: dict[str, Syntax] = {}
    for syntax in syntaxes:
        grammars[_digest(_TASK.sub("TASK", write_grammar(syntax, "")))] = syntax
    return grammars, {_domain_digest(write_domain(syntax)) for syntax in syntaxes}


@lru_cache(maxsize=2)
def _resource(name: str) -> str:
    return (files("rla_envs.alfworld.engine") / "data" / name).read_text(encoding="utf-8")
