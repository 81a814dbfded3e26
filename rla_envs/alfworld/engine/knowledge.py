"""What the agent has been shown in an episode, and how to act well on no more than that."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .planner import commands_of, next_stop

if TYPE_CHECKING:
    from random import Random

    from .world import World


@dataclass(slots=True)
class Knowledge:
    """What was revealed so far; which receptacles there are is known from the start.

    A receptacle's content is revealed when the agent goes to it, opens it or examines it and it is
    open afterwards. Later only the agent changes what is in it, so its present content stays known.

    Attributes:
        revealed: ids of the receptacles whose content was shown.
        handled: ids of the items that the agent has picked up; it knows where they are.
    """

    revealed: set[str] = field(default_factory=set[str])
    handled: set[str] = field(default_factory=set[str])

    def shows(self, world: World, command: str) -> str | None:
        """Return the receptacle that a command shows for the first time, None if there is none.

        Args:
            world: The world after the command.
            command: The command in canonical form; it must have been possible.
        """
        action = world.tables.parse(command)
        if action is None or action.verb not in ("go", "open", "examine"):
            return None
        receptacle = world.tables.receptacles.get(action.first)
        if receptacle is None or receptacle.id in self.revealed:
            return None
        is_open = not receptacle.openable or receptacle.id in world.opened
        return receptacle.id if is_open else None

    def update(self, world: World, command: str) -> None:
        """Take in a command that the world has just carried out."""
        shown = self.shows(world, command)
        if shown is not None:
            self.revealed.add(shown)
        if world.holding is not None:
            self.handled.add(world.holding)

    def copy(self) -> Knowledge:
        """Return an independent copy."""
        return Knowledge(set(self.revealed), set(self.handled))


def explorer_action(world: World, knowledge: Knowledge, rng: Random, *, noise: float) -> str:
    """Return what somebody sensible would do who knows only what was shown.

    While the needed thing is unseen: look into what stands here, else go to a random place that may
    hold it. Otherwise: the next command of a shortest plan. An agent without any plan left, and
    with probability noise any agent, takes a random admissible command.

    Args:
        world: An episode that is not won yet.
        knowledge: What was shown in it.
        rng: Where randomness comes from.
        noise: Probability of a random command, in [0, 1].
    """
    if noise > 0 and rng.random() < noise:
        return rng.choice(world.admissible())
    found = next_stop(world, knowledge)
    if found is None:
        return rng.choice(world.admissible())
    stop, places = found
    if stop.place:
        return commands_of(world, stop)[0]
    names, receptacles = world.tables.names, world.tables.receptacles
    for place in places:
        if place in world.near:
            closed = receptacles[place].openable and place not in world.opened
            return f"{'open' if closed else 'examine'} {names[place]}"
    return f"go to {names[rng.choice(places)]}"
