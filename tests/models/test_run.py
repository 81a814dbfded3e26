"""`rla train alfworld --model`: a transformers model with adapters through the whole loop."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from rla_adapters import load_model
from rla_adapters.domains import load_domain
from rla_adapters.domains.alfworld_warm_start import demonstrations, judge_rows, policy_rows
from rla_adapters.hf import HfChatModel
from rla_adapters.run import evaluate_run, train
from rla_adapters.tiny.sampler import TinyChatModel

from rla_envs.cli import main
from rla_envs.config import LoopConfig, RolloutConfig, TrainConfig, WarmStartConfig
from rla_envs.errors import ConfigError, TaskUnavailable
from rla_envs.tracking import RunFolder

SMALL = TrainConfig(
    train_tasks=4,
    panel_tasks=2,
    warm_start=WarmStartConfig(
        policy_tasks=6, judge_tasks=6, policy_epochs=1, judge_epochs=1, lora_rank=4
    ),
    loop=LoopConfig(
        iterations=2,
        evaluate_every=2,
        votes=2,
        rollout=RolloutConfig(tasks=2, rollouts=2, slots=4, max_steps=4),
    ),
)


def small(**warm):
    return replace(SMALL, warm_start=replace(SMALL.warm_start, **warm))


def comparable(run):
    return [
        {k: v for k, v in row.items() if not k.startswith("seconds/") and k[:6] != "share_"}
        for row in RunFolder.open(run).metrics()
    ]


@pytest.mark.slow
def test_a_hugging_face_folder_runs_and_resumes_to_the_same_numbers(folder, tmp_path):
    config = small(policy_model=f"hf:{folder}", judge_model=f"hf:{folder}")
    train(config, tmp_path / "whole")
    half = replace(config, loop=replace(config.loop, iterations=1))
    train(half, tmp_path / "half")
    train(config, tmp_path / "half", resume=True)
    rows = comparable(tmp_path / "whole")
    assert [row["iteration"] for row in rows] == [0, 1, 2]
    # The half run was evaluated where it ended.
    fields = rows[1].keys() - {"accuracy/in_domain", "accuracy/out_of_domain"}
    half_rows = comparable(tmp_path / "half")
    assert half_rows[2] == rows[2]
    assert {f: half_rows[1][f] for f in fields} == {f: rows[1][f] for f in fields}
    assert evaluate_run(tmp_path / "whole", split="valid_seen", episodes=2)["episodes"] == 2
    saved = tmp_path / "whole" / "checkpoints" / "iteration-00002" / "policy" / "model"
    assert (saved / "adapter_config.json").is_file()
    assert not (saved / "model.safetensors").exists()


def test_a_judge_behind_a_server_is_not_trained_silently(tmp_path):
    config = small(judge_model="openai:critic@http://127.0.0.1:9/v1")
    with pytest.raises(ConfigError, match=r"add --no-loop\.train-judge"):
        train(config, tmp_path / "run")
    with pytest.raises(ConfigError, match="cannot be trained from here; give its folder"):
        train(small(policy_model="http://127.0.0.1:9/v1 model"), tmp_path / "other")


def test_chat_prompts_show_rules_history_and_admissible_commands():
    config = replace(SMALL, prompts="chat")
    domain = load_domain(config)
    assert domain.env_spec().kwargs["view"] == "full"
    episodes = demonstrations(
        domain.tasks("train", 6), noise=0.4, max_steps=6, seed=0, compact=False
    )
    for conversation, reply, _ in policy_rows(episodes, domain.prompts):
        assert conversation[0]["role"] == "system"
        assert reply in conversation[-1]["content"].split("Admissible commands:\n")[1].split("\n")
    for conversation, reply, _ in judge_rows(episodes, domain.prompts, label_noise=0, seed=0):
        (message,) = conversation
        answered = message["content"].split("What the agent answered:\n")[1].split("\n")[0]
        # The command that was judged is the one that was carried out.
        assert answered in {step.action for episode in episodes for step in episode.steps}
        assert re.fullmatch(r".+ \\boxed\{[+-]1\}", reply)


def test_a_folder_is_told_apart_by_its_config(folder, tmp_path):
    assert isinstance(load_model(str(folder)), TinyChatModel)
    assert isinstance(load_model(f"hf:{folder}"), HfChatModel)
    adapted = load_model(f"hf:{folder}", lora=4)
    adapted.save(tmp_path / "lora")
    assert isinstance(load_model(str(tmp_path / "lora")), HfChatModel)


@pytest.mark.parametrize(
    ("spec", "error", "words"),
    [
        ("tiny:huge", ConfigError, "'huge'"),
        ("/no/such/folder", TaskUnavailable, "a model is one of: tiny:nano"),
        ("openai:critic", ConfigError, "expected openai:MODEL@BASE_URL"),
        ("http://127.0.0.1:9/v1", ConfigError, "expected 'URL MODEL"),
    ],
)
def test_a_spec_that_says_too_little_names_what_is_expected(spec, error, words):
    with pytest.raises(error, match=words):
        load_model(spec)


def test_the_command_line_names_both_models(tmp_path, capsys):
    assert main(["train", "alfworld", "--model", "/no/such", "--out", str(tmp_path / "run")]) == 2
    assert "no model in /no/such " in capsys.readouterr().err
