"""The accelerate files of docs/scaling.md say what their names promise."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "accelerate"


@pytest.mark.parametrize(
    ("name", "kind", "machines", "processes"),
    [("fsdp_8_gpus", "FSDP", 1, 8), ("zero3_4_nodes", "DEEPSPEED", 4, 32)],
)
def test_file_has_eight_processes_a_machine(name, kind, machines, processes):
    yaml = pytest.importorskip("yaml", reason="comes with transformers and ray")
    settings = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    assert settings["distributed_type"] == kind
    assert (settings["num_machines"], settings["num_processes"]) == (machines, processes)


@pytest.mark.parametrize("name", ["fsdp_8_gpus", "zero3_4_nodes"])
def test_accelerate_knows_every_setting(name):
    config_args = pytest.importorskip(
        "accelerate.commands.config.config_args", reason="needs pip install accelerate"
    )
    # It raises on a key that it does not know.
    config = config_args.load_config_from_file(str(FOLDER / f"{name}.yaml"))
    assert config.num_processes in (8, 32)
