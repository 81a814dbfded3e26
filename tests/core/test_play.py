"""Playing by hand: the terminal sees what the player needs, and leaving is always possible."""

import pytest

from rla_envs.errors import TaskUnavailable
from rla_envs.play import numbered, play


class Terminal:
    """A scripted player."""

    def __init__(self, *lines):
        self.lines, self.screen = list(lines), []

    def read(self, prompt):
        if not self.lines:
            raise EOFError
        return self.lines.pop(0)

    def play(self, **kwargs):
        return play(read=self.read, write=self.screen.append, seed=0, **kwargs)

    @property
    def text(self):
        return "\n".join(self.screen)


def test_commands_are_shown_with_the_numbers_that_step_takes():
    assert numbered(["look", "open safe 1", "help"], width=40) == (
        "\n[0] look         [2] help\n[1] open safe 1"
    )
    assert numbered([]) == ""


def test_an_episode_is_played_to_its_end_and_returned():
    player = Terminal("look", "0", "dance")
    record = player.play(max_steps=3)
    assert [step.action for step in record.steps] == ["look", "0", "dance"]
    assert record.outcome == -1
    assert "Your task is to" in player.text
    assert "('dance' is no command" in player.text
    assert player.text.endswith("Not solved after 3 steps; last reward -1.")


@pytest.mark.parametrize("lines", [("quit",), ("look", "exit"), (), ("list", "")])
def test_the_player_may_leave_at_any_time(lines):
    player = Terminal(*lines)
    assert player.play() is None
    shown = sum(text.startswith("\n[0] ") for text in player.screen)
    assert shown == 1 + len([line for line in lines if line not in ("quit", "exit")])


def test_the_adaptive_id_can_be_played():
    assert Terminal("look").play(env_id="rla/AlfWorld-Adaptive-v0", max_steps=1).outcome == -1


def test_an_unknown_task_is_named():
    with pytest.raises(TaskUnavailable, match="'nowhere'"):
        Terminal().play(task="nowhere")
