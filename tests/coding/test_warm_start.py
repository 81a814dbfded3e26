"""What the embedded models of coding read, write and imitate."""

from dataclasses import replace

import pytest

pytest.importorskip("torch")

from rla_adapters.domains.coding_warm_start import coding_words, judge_rows, policy_rows
from rla_adapters.tiny.tokenizer import build_tokenizer, split_words
from rla_task_sets.coding.generated import generate

from rla_envs.cli import main
from rla_envs.coding.grading import Grader
from rla_envs.coding.problem import problem_of
from rla_envs.coding.test_writer import parse_test
from rla_envs.config import preset
from rla_envs.prompts.coding import CompactPrompts
from rla_envs.types import Completion


def spoken(text):
    """Return text as the tokenizer gives it back."""
    tokenizer = build_tokenizer(coding_words())
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    return tokenizer.decode(ids, skip_special_tokens=True)


def test_every_reference_survives_the_tokenizer(grader: Grader):
    for task in generate(n=8, kinds=("numbers",), size="medium"):
        action = CompactPrompts().action(Completion(text=spoken(task.payload["reference"])))
        program = action.removeprefix("```python\n").removesuffix("\n```")
        assert grader.grade(problem_of(task), program).right, program


def test_the_vocabulary_has_every_word_of_small_problems():
    known = set(coding_words())
    for task in generate(n=60, kinds=("numbers",)):
        for conversation, reply, _ in policy_rows([task], seed=0):
            words = split_words(conversation[0]["content"]) + split_words(reply)
            # Squares and products beyond the vocabulary are the only exception.
            assert all(word in known or word.lstrip("-").isdigit() for word in words)


def test_what_the_judge_imitates_is_right_but_for_the_noise():
    tasks = generate(n=20, kinds=("numbers",))
    prompts = CompactPrompts()
    right = []
    for task in tasks:
        problem = problem_of(task)
        for _, reply, _ in judge_rows([task], noise=0.0, seed=1):
            source = prompts.written(Completion(text=reply), task)
            test, _ = parse_test(source, problem)
            right.append(test is not None)
    assert all(right)


def test_problems_are_generated_from_the_command_line(tmp_path, capsys):
    assert main(["tasks", "generate", "coding", "--n", "3", "--out", str(tmp_path)]) == 0
    assert "3 problems in" in capsys.readouterr().out
    assert len((tmp_path / "train.jsonl").read_text().splitlines()) == 3


def test_official_tasks_are_refused_with_a_way_out():
    from rla_adapters.domains import load_domain

    from rla_envs.errors import ConfigError

    with pytest.raises(ConfigError, match='tasks="generated" only'):
        load_domain(replace(preset("demo", domain="coding"), tasks="official"))
