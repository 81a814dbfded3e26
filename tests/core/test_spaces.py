"""The Unicode space: membership, sampling, and its form in vector environments."""

import json
import multiprocessing
import pickle
from copy import deepcopy

import pytest
from gymnasium.spaces import Dict, Tuple
from gymnasium.spaces.utils import is_space_dtype_shape_equiv
from gymnasium.vector.utils import (
    batch_differing_spaces,
    batch_space,
    concatenate,
    create_empty_array,
    create_shared_memory,
    iterate,
    read_from_shared_memory,
    write_to_shared_memory,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from rla_envs.errors import ConfigError
from rla_envs.spaces import Unicode

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)


@given(TEXT)
def test_every_text_up_to_the_length_is_a_member(text):
    assert text in Unicode(12)
    assert (text in Unicode(11)) == (len(text) <= 11)


@pytest.mark.parametrize("stranger", [None, 3, b"look", ["look"], "\ud800"])
def test_what_is_no_text_is_no_member(stranger):
    assert stranger not in Unicode(12)


def test_too_short_text_is_no_member():
    assert "" not in Unicode(3, min_length=1)
    assert "a" in Unicode(3, min_length=1)


def test_samples_are_members_and_a_function_of_the_seed():
    first = [Unicode(30, min_length=2, seed=7).sample() for _ in range(3)]
    assert first[0] == first[1] == first[2]
    space = Unicode(30, min_length=2, seed=7)
    drawn = [space.sample() for _ in range(200)]
    assert all(text in space for text in drawn)
    assert len(set(drawn)) > 190
    space.seed(7)
    assert [space.sample() for _ in range(200)] == drawn


def test_a_copy_and_a_pickle_are_equal_and_draw_the_same():
    space = Unicode(30, seed=7)
    space.sample()
    for twin in (deepcopy(space), pickle.loads(pickle.dumps(space))):
        assert twin == space
        assert twin.sample() == deepcopy(space).sample()
    assert Unicode(30) != Unicode(31)


def test_masked_sampling_is_refused():
    with pytest.raises(ConfigError, match="neither mask"):
        Unicode(3).sample(mask=1)


def test_impossible_lengths_are_refused():
    with pytest.raises(ConfigError, match=r"min_length=4, max_length=3"):
        Unicode(3, min_length=4)


@given(st.lists(TEXT, max_size=4))
def test_jsonable_form_comes_back(texts):
    space = Unicode(12)
    assert space.from_jsonable(json.loads(json.dumps(space.to_jsonable(texts)))) == texts


def test_batches_are_tuples_of_text():
    space = Unicode(12, seed=0)
    batch = batch_space(space, 3)
    assert ("", "é\n", "mug 1") in batch
    assert list(iterate(batch, ("a", "b", "c"))) == ["a", "b", "c"]
    empty = create_empty_array(space, 2)
    assert empty == ("", "")
    assert concatenate(space, ["a", "b"], empty) == ("a", "b")
    assert batch.sample() in batch


def test_differing_spaces_batch_and_compare():
    batch = batch_differing_spaces([Unicode(2), Unicode(5)])
    assert ("ab", "abcde") in batch
    assert ("abc", "abcde") not in batch
    assert is_space_dtype_shape_equiv(Unicode(5), Unicode(5, min_length=1))
    assert not is_space_dtype_shape_equiv(Unicode(5), Unicode(6))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), TEXT), max_size=8))
def test_shared_memory_returns_what_was_written_last(writes):
    space = Unicode(12)
    memory = create_shared_memory(space, 3)
    live = read_from_shared_memory(space, memory, 3)
    expected = ["", "", ""]
    for place, text in writes:
        write_to_shared_memory(space, place, text, memory)
        expected[place] = text
        assert live == tuple(expected)
        assert deepcopy(live) == tuple(expected)
    assert type(deepcopy(live)) is tuple


def test_a_copy_of_shared_memory_does_not_follow_later_writes():
    space = Unicode(12)
    memory = create_shared_memory(space, 1)
    live = read_from_shared_memory(space, memory, 1)
    write_to_shared_memory(space, 0, "before", memory)
    copy = deepcopy(live)
    write_to_shared_memory(space, 0, "after", memory)
    assert copy == ("before",)
    assert list(live) == ["after"]


def test_text_that_does_not_fit_is_refused_and_never_cut():
    space = Unicode(3)
    with pytest.raises(ConfigError, match="4 characters is not in"):
        write_to_shared_memory(space, 0, "abcd", create_shared_memory(space, 1))


def test_four_byte_characters_fill_shared_memory_exactly():
    space = Unicode(3)
    memory = create_shared_memory(space, 2)
    write_to_shared_memory(space, 0, "𝄞𝄞𝄞", memory)
    write_to_shared_memory(space, 1, "abc", memory)
    assert deepcopy(read_from_shared_memory(space, memory, 2)) == ("𝄞𝄞𝄞", "abc")


def test_shared_memory_works_inside_dict_and_tuple_spaces():
    space = Dict({"text": Unicode(5), "pair": Tuple((Unicode(2), Unicode(3)))})
    memory = create_shared_memory(space, 2)
    live = read_from_shared_memory(space, memory, 2)
    write_to_shared_memory(space, 1, {"text": "hello", "pair": ("ab", "cde")}, memory)
    copy = deepcopy(live)
    assert copy["text"] == ("", "hello")
    assert copy["pair"] == (("", "ab"), ("", "cde"))


def _write(space, memory):
    write_to_shared_memory(space, 1, "from a child: é", memory)


def test_another_process_writes_into_the_same_memory():
    context = multiprocessing.get_context("fork")
    space = Unicode(20)
    memory = create_shared_memory(space, 2, context)
    child = context.Process(target=_write, args=(space, memory))
    child.start()
    child.join()
    assert deepcopy(read_from_shared_memory(space, memory, 2)) == ("", "from a child: é")
