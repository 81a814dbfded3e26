"""One small model, saved as a Hugging Face folder, behind every backend of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs pip install 'rla-envs[train]'")
pytest.importorskip("transformers", reason="needs pip install 'rla-envs[train]'")

from rla_adapters.conformance import write_reference_model  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the reference model."""
    where = tmp_path_factory.mktemp("models") / "reference"
    write_reference_model(where)
    return where
