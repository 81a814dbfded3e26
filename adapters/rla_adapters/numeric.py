"""A view of text environments for trainers that read numbers: Stable-Baselines3, Tianshou, RLlib.

An action is a place in the list of admissible commands. The list changes from step to step, so the
observation describes each command next to the text, and a mask says which places are taken.
``action_masks`` is what sb3-contrib's MaskablePPO asks for, and ``MultiInputPolicy`` reads the
observation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsFloat
from zlib import crc32

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rla_envs.errors import ConfigError

Numbers = dict[str, NDArray[Any]]


class NumericView(gymnasium.Wrapper[Numbers, Any, str, str], gymnasium.utils.RecordConstructorArgs):
    """Discrete actions over admissible commands; text as counts of hashed words.

    Observation: ``text`` [D], how often words of each hash occur, ``commands`` [N, D], the same for
    every admissible command, and ``mask`` [N], 1 where there is one. ``info["commands_hidden"]`` is
    the number of commands beyond N, which cannot be chosen. A place without a command is an
    inadmissible action: it costs a step.

    Args:
        env: Names admissible commands in ``info["admissible_commands"]``.
        commands: N, the number of actions.
        width: D, the number of hashes. Two words may share one.

    Raises:
        ConfigError: commands or width is below 1.
    """

    def __init__(
        self, env: gymnasium.Env[str, str], *, commands: int = 64, width: int = 256
    ) -> None:
        if commands < 1 or width < 1:
            raise ConfigError(f"commands and width must be at least 1, got {commands} and {width}")
        gymnasium.utils.RecordConstructorArgs.__init__(self, commands=commands, width=width)
        gymnasium.Wrapper.__init__(self, env)  # pyright: ignore[reportUnknownMemberType]
        self._commands: Sequence[str] = ()
        self._places, self._width = commands, width
        self.action_space = spaces.Discrete(commands)
        self.observation_space = spaces.Dict(  # pyright: ignore[reportAttributeAccessIssue]
            {
                "text": spaces.Box(0, np.inf, (width,), np.float32),
                "commands": spaces.Box(0, np.inf, (commands, width), np.float32),
                "mask": spaces.MultiBinary(commands),
            }
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Numbers, dict[str, Any]]:
        """Start an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._seen(observation, info)  # pyright: ignore[reportArgumentType]

    def step(self, action: Any) -> tuple[Numbers, SupportsFloat, bool, bool, dict[str, Any]]:
        """Give the environment the command at place action."""
        place = int(action)
        command = self._commands[place] if place < len(self._commands) else str(place)
        observation, reward, terminated, truncated, info = self.env.step(command)
        numbers, info = self._seen(observation, info)  # pyright: ignore[reportArgumentType]
        return numbers, reward, terminated, truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which places [N] hold a command."""
        return np.arange(self._places) < len(self._commands)

    def _seen(self, observation: str, info: dict[str, Any]) -> tuple[Numbers, dict[str, Any]]:
        admissible = list(info["admissible_commands"])
        self._commands = admissible[: self._places]
        table = np.zeros((self._places, self._width), np.float32)
        for place, command in enumerate(self._commands):
            table[place] = self._counts(command)
        numbers: Numbers = {
            "text": self._counts(observation),
            "commands": table,
            "mask": self.action_masks().astype(np.int8),
        }
        hidden = len(admissible) - len(self._commands)
        return numbers, {**info, "commands_hidden": hidden}

    def _counts(self, text: str) -> NDArray[np.float32]:
        # Not hash(): it differs from process to process.
        hashes = [crc32(word.encode()) % self._width for word in text.lower().split()]
        return np.bincount(hashes, minlength=self._width).astype(np.float32)
