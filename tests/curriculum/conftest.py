"""A small kitchen, tasks without a domain, and groups with given outcomes."""

import pytest

from rla_envs.alfworld.engine import Goal, Item, Receptacle, Scene, name_entities, scene_to_payload
from rla_envs.types import Completion, Group, Rewrite, Step, Task, Trajectory, Vote

PLACES = {
    "CounterTop_bar_1": ("CounterTop", False),
    "CounterTop_bar_2": ("CounterTop", False),
    "Cabinet_bar_1": ("Cabinet", True),
    "Cabinet_bar_2": ("Cabinet", True),
    "Drawer_bar_1": ("Drawer", True),
    "Drawer_bar_2": ("Drawer", True),
    "Sink_bar_1_bar_SinkBasin": ("SinkBasin", False),
    "Microwave_bar_1": ("Microwave", True),
    "Fridge_bar_1": ("Fridge", True),
    "DiningTable_bar_1": ("DiningTable", False),
    "GarbageCan_bar_1": ("GarbageCan", False),
    "Shelf_bar_1": ("Shelf", False),
}
THINGS = {
    "Mug_bar_1": ("Mug", "CounterTop_bar_1"),
    "Mug_bar_2": ("Mug", "Cabinet_bar_1"),
    "Mug_bar_3": ("Mug", "Shelf_bar_1"),
    "Plate_bar_1": ("Plate", "CounterTop_bar_2"),
    "Fork_bar_1": ("Fork", "Drawer_bar_1"),
    "Fork_bar_2": ("Fork", "Drawer_bar_1"),
    "Fork_bar_3": ("Fork", "CounterTop_bar_1"),
    "Fork_bar_4": ("Fork", "CounterTop_bar_2"),
    "Apple_bar_1": ("Apple", "Fridge_bar_1"),
    "Apple_bar_2": ("Apple", "CounterTop_bar_2"),
}
FLAGS = {"Mug": "chk", "Plate": "chk", "Fork": "c", "Apple": "chk"}
FITS = {
    "Mug": "CounterTop Cabinet SinkBasin Microwave Fridge DiningTable Shelf",
    "Plate": "CounterTop Cabinet SinkBasin Microwave Fridge DiningTable Shelf",
    "Fork": "CounterTop Drawer SinkBasin DiningTable",
    "Apple": "CounterTop SinkBasin Microwave Fridge DiningTable GarbageCan",
}


def kitchen(goal=None, instruction="put a mug in diningtable."):
    """Return a kitchen with three mugs in which the table is the destination."""
    names = name_entities([*PLACES, *THINGS])
    spot = {id_: f"loc_bar_{number}" for number, id_ in enumerate(PLACES, 1)}
    return Scene(
        receptacles=tuple(
            Receptacle(
                id=id_, name=names[id_], type=t, location=spot[id_], openable=door, opened=False
            )
            for id_, (t, door) in PLACES.items()
        ),
        items=tuple(
            Item(
                id=id_,
                name=names[id_],
                type=t,
                location=spot[place],
                receptacles=(place,),
                cleanable="c" in FLAGS[t],
                heatable="h" in FLAGS[t],
                coolable="k" in FLAGS[t],
            )
            for id_, (t, place) in THINGS.items()
        ),
        agent_location="loc_bar_0",
        goal=goal
        or Goal(
            task_type="pick_and_place_simple", object_type="Mug", receptacle_type="DiningTable"
        ),
        instruction=instruction,
        can_contain=frozenset((r, t) for t, places in FITS.items() for r in places.split()),
    )


@pytest.fixture
def make_kitchen():
    return kitchen


@pytest.fixture
def kitchen_task():
    scene = kitchen()
    return Task(
        id="room/kitchen",
        domain="alfworld",
        instruction=scene.instruction,
        payload={"scene": scene_to_payload(scene), "task_type": scene.goal.task_type},
    )


def play(task, outcomes, *, version=0, reason="searches an old place", on_trial=False):
    """Return a group with the given outcomes; every lost episode has one step voted down."""

    def trajectory(outcome):
        label = 1 if outcome == 1 else -1
        vote = Vote(label=label, rationale=reason if label == -1 else "fine")
        step = Step(
            observation="",
            completion=Completion(text="look"),
            action="look",
            next_observation="",
            votes=(vote,),
        )
        return Trajectory(
            task=task,
            steps=(step,),
            outcome=outcome,
            stop_reason="won" if outcome == 1 else "budget",
            seed=0,
            policy_version=version,
        )

    return Group(task=task, trajectories=tuple(map(trajectory, outcomes)), on_trial=on_trial)


@pytest.fixture
def make_group():
    return play


class ShiftRewriter:
    """Rewrites a task whose payload is its accuracy by adding or taking a fixed amount."""

    def __init__(self, shift=0.4):
        self.shift = shift
        self.asked = []

    def propose(self, task, *, root, direction, summary, seed):
        self.asked.append((task.id, direction, summary))
        sign = -1 if direction == "harder" else 1
        accuracy = min(0.98, max(0.02, task.payload["accuracy"] + sign * self.shift))
        new = Task(
            id="?",
            domain=task.domain,
            instruction=task.instruction,
            payload={"accuracy": accuracy, "seed": seed},
        )
        return Rewrite(task=new, direction=direction, transform="shift", reason="by hand")


@pytest.fixture
def shift_rewriter():
    return ShiftRewriter()


def number_tasks(*accuracies):
    return [
        Task(id=f"t{i}", domain="numbers", instruction="", payload={"accuracy": accuracy})
        for i, accuracy in enumerate(accuracies)
    ]


@pytest.fixture
def make_tasks():
    return number_tasks
