"""Why a step in ALFWorld was good or bad, in words short enough for a small judge to write."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rla_envs.types import Sign

REASONS: Mapping[str, Sign] = MappingProxyType(
    {
        "searches a new place": 1,
        "moves toward the goal": 1,
        "opens the right place": 1,
        "takes the right thing": 1,
        "changes the right thing": 1,
        "puts it in the right place": 1,
        "frees the hand": 1,
        "switches on the right lamp": 1,
        "nothing happens": -1,
        "wastes a step": -1,
        "searches an old place": -1,
        "searches a useless place": -1,
        "leaves a place unsearched": -1,
        "moves away from the goal": -1,
        "takes the wrong thing": -1,
        "puts it in the wrong place": -1,
        "forgets to change it": -1,
        "changes the wrong thing": -1,
        "opens a useless place": -1,
        "closes a place": -1,
    }
)
"""All reasons that step_reasons gives -> whether the step was good (+1) or bad (-1).

searches a new place: goes to, opens or examines a place that may hold what is still unseen.
moves toward the goal: goes where the thing, the appliance, the lamp or the destination is.
opens the right place: opens where the thing is known to be or has to go.
takes the right thing: takes what the goal is about.
changes the right thing: cleans, heats or cools the thing as asked.
puts it in the right place: puts the thing, as asked, where the goal wants it.
frees the hand: puts away what is not needed, so that the right thing can be taken.
switches on the right lamp: uses the lamp of the goal.
nothing happens: the command was not possible.
wastes a step: looks, asks or uses something to no avail.
searches an old place: goes to, opens or examines a place whose content is known and not needed.
searches a useless place: goes to or examines an unknown place that cannot hold what is needed.
leaves a place unsearched: walks on from a place that may hold the thing without looking inside.
moves away from the goal: walks away although it is known where to go on.
takes the wrong thing: takes what the goal is not about, or takes the thing back.
puts it in the wrong place: puts the thing where the goal does not want it.
forgets to change it: brings or puts the thing to its destination before it is clean, hot or cool.
changes the wrong thing: cleans, heats, cools or slices what need not be.
opens a useless place: opens an unknown place that cannot hold what is needed.
closes a place: closes a receptacle, which nothing needs.
"""
