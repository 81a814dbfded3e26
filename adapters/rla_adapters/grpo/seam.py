"""Which TRL this package can drive: it overrides methods that are not public."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from rla_envs.errors import ConfigError, MissingExtra

SERIES = "1.16"
"""The series whose seams tests/trl/test_seam.py pins."""


def require_trl() -> None:
    """Check that TRL is there and of the series that this package was tested with.

    Raises:
        MissingExtra: TRL is not installed.
        ConfigError: it is another series.
    """
    try:
        found = version("trl")
    except PackageNotFoundError as error:
        raise MissingExtra(
            "the trl trainer needs 'trl', which is missing: pip install 'rla-envs[trl]'"
        ) from error
    if not f"{found}.".startswith(f"{SERIES}."):
        raise ConfigError(
            f"the trl trainer drives private methods of trl {SERIES}, but {found} is installed: "
            "pip install 'rla-envs[trl]', or take the trainer 'native'"
        )
