"""The package costs nothing until it is used, and says what is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest
from rla_adapters import load_model, load_trainer

from rla_envs.errors import ConfigError, TaskUnavailable


def test_importing_the_package_imports_no_torch():
    code = "import sys, rla_adapters; sys.exit(bool({'torch', 'transformers'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_dependency_names_the_extra():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import rla_adapters, rla_envs.errors as e\n"
        "try: rla_adapters.load_model('tiny:nano')\n"
        "except e.MissingExtra as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "rla-envs[train]" in run.stdout
    assert "'torch'" in run.stdout


def test_unknown_names_and_empty_folders_are_refused(chat, tmp_path):
    with pytest.raises(ConfigError, match="'huge'"):
        load_model("tiny:huge")
    with pytest.raises(ConfigError, match="got 'other'"):
        load_trainer("other", chat)
    with pytest.raises(TaskUnavailable, match=r"config\.json is missing"):
        load_model(str(tmp_path))


def test_a_seed_gives_the_same_weights_and_leaves_the_global_generator_alone():
    import torch

    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    one, other, third = (load_model("tiny:nano", seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(1), expected)
    left, right, different = (m.network.lm_head.weight for m in (one, other, third))
    assert torch.equal(left, right)
    assert not torch.equal(left, different)
