"""The same calls on indexes of datasketch and of lookalike.datasketch give the same answers."""

from __future__ import annotations

import copy
import hashlib
import pickle
import threading
from typing import Any

import datasketch as theirs
import numpy as np
import pytest
from datasketch.lsh import _optimal_param
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

import lookalike.datasketch as ours

unhurried = settings(max_examples=50, deadline=None)
LENGTH = 12
# Values from so few numbers that many bands are equal.
signatures = st.lists(st.integers(0, 2), min_size=LENGTH, max_size=LENGTH)
keys = st.sampled_from([0, 1, 2, "a", b"a", (1, "x"), 1.0])


def sketch(module: Any, values: list[int], scheme: str = "affine32") -> Any:
    return module.MinHash(hashvalues=values, scheme=scheme)


def outcome(call: Any) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error)


class SameAnswers(RuleBasedStateMachine):
    """Runs random calls on both indexes; every answer is compared as a set."""

    @initialize(
        params=st.sampled_from([(2, 1), (3, 2), (12, 1), (4, 3), (2, 6), (2, 5)]),
        prepickle=st.booleans(),
        is_compressed=st.booleans(),
        scheme=st.sampled_from(["affine32", "affine64", "legacy"]),
        is_weighted=st.booleans(),
    )
    def make(self, params: Any, prepickle: bool, is_compressed: bool, scheme: str, is_weighted: bool) -> None:
        function = (lambda data: hashlib.md5(data).digest()[:2]) if is_compressed else None
        settings = {"num_perm": LENGTH, "params": params, "prepickle": prepickle, "hashfunc": function}
        self.indexes = {module: module.MinHashLSH(**settings) for module in (theirs, ours)}
        self.settings, self.scheme, self.is_weighted = settings, scheme, is_weighted

    def sketch(self, module: Any, values: list[int]) -> Any:
        if self.is_weighted:
            return module.WeightedMinHash(1, np.array([[value, value % 2 - 1] for value in values]))
        return sketch(module, values, self.scheme)

    def both(self, call: Any, are_sets: bool = False) -> None:
        there, here = (outcome(lambda: call(module, index)) for module, index in self.indexes.items())
        if are_sets and isinstance(here, list):
            there, here = sorted(map(repr, there)), sorted(map(repr, here))
        assert there == here

    @rule(key=keys, values=signatures)
    def insert(self, key: Any, values: list[int]) -> None:
        self.both(lambda module, index: index.insert(key, self.sketch(module, values)))

    @rule(entries=st.lists(st.tuples(keys, signatures), max_size=4))
    def insert_in_session(self, entries: Any) -> None:
        def call(module: Any, index: Any) -> None:
            with index.insertion_session(buffer_size=7) as session:
                for key, values in entries:
                    session.insert(key, self.sketch(module, values))

        self.both(call)

    @rule(key=keys)
    def remove(self, key: Any) -> None:
        self.both(lambda module, index: index.remove(key))

    @rule(key=keys)
    def remove_in_session(self, key: Any) -> None:
        def call(module: Any, index: Any) -> None:
            with index.deletion_session() as session:
                session.remove(key)

        self.both(call)

    @rule(values=signatures)
    def query(self, values: list[int]) -> None:
        self.both(lambda module, index: index.query(self.sketch(module, values)), are_sets=True)

    @rule(values=signatures, bands=st.integers(0, 13))
    def query_some_bands(self, values: list[int], bands: int) -> None:
        self.both(lambda module, index: index._query_b(self.sketch(module, values), bands))

    @rule(many=st.lists(signatures, max_size=3))
    def query_buffer(self, many: list[list[int]]) -> None:
        def call(module: Any, index: Any) -> Any:
            for values in many:
                index.add_to_query_buffer(self.sketch(module, values))
            return index.collect_query_buffer()

        self.both(call, are_sets=True)

    @rule(key=keys)
    def look(self, key: Any) -> None:
        self.both(lambda _, index: [key in index, index.is_empty(), index.get_counts()])
        self.both(lambda _, index: index.get_subset_counts(key, 1, "a"))
        self.both(lambda _, index: (len(index.keys), set(index.keys), key in index.keys, index.keys.get(key)))
        self.both(lambda _, index: [{name: table.get(name) for name in table.keys()} for table in index.hashtables])
        self.both(lambda _, index: [(len(table), table.has_key(b"none"), table[b"none"]) for table in index.hashtables])

    @rule(entries=st.dictionaries(keys, signatures, max_size=4))
    def merge_others(self, entries: Any) -> None:
        """Keys of both are refused; what datasketch leaves behind when such a key is removed is no example to follow."""

        def call(module: Any, index: Any) -> None:
            other = module.MinHashLSH(**self.settings)
            for key, values in entries.items():
                other.insert(key, self.sketch(module, values))
            index.merge(other, check_overlap=True)

        self.both(call)

    @rule()
    def remove_all(self) -> None:
        for key in [0, 1, 1.0, 2, "a", b"a", (1, "x")]:
            self.remove(key)
        self.look(0)
        assert [len(table) for table in self.indexes[ours].hashtables] == [0] * self.indexes[ours].b

    @rule()
    def pickled(self) -> None:
        if not self.settings["hashfunc"]:
            self.indexes = {module: pickle.loads(pickle.dumps(index)) for module, index in self.indexes.items()}
        else:
            self.indexes[ours] = copy.deepcopy(self.indexes[ours])


SameAnswers.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestSameAnswers = SameAnswers.TestCase


@settings(max_examples=40, deadline=None)
@given(
    st.one_of(st.floats(0, 1), st.sampled_from([0.5, 0.7, 0.8, 0.9, 0.0, 1.0])),
    st.sampled_from([2, 3, 16, 64, 100, 128]),
    st.one_of(st.just(0.5), st.floats(0, 1)),
)
def test_bands_and_rows_are_chosen_alike(threshold: float, length: int, weight: float) -> None:
    from lookalike.datasketch.lsh import _optimal_param as ours_optimal_param

    assert ours_optimal_param(threshold, length, weight, 1 - weight) == _optimal_param(
        threshold, length, weight, 1 - weight
    )
    if weight + (1 - weight) == 1.0:
        arguments = {"threshold": threshold, "num_perm": length, "weights": (weight, 1 - weight)}
        there, here = (outcome(lambda: module.MinHashLSH(**arguments)) for module in (theirs, ours))
        assert there is here or (there.b, there.r, there.h, there.hashranges) == (here.b, here.r, here.h, here.hashranges)


@unhurried
@given(st.lists(st.tuples(keys, signatures), min_size=1, max_size=8), signatures)
def test_keys_may_be_there_several_times_if_nobody_looks(entries: Any, asked: list[int]) -> None:
    indexes = []
    for module in (theirs, ours):
        index = module.MinHashLSH(num_perm=LENGTH, params=(4, 3))
        for key, values in entries:
            index.insert(key, sketch(module, values), check_duplication=False)
        other = module.MinHashLSH(num_perm=LENGTH, params=(4, 3))
        other.insert(entries[0][0], sketch(module, asked[::-1]))
        index.merge(other)
        indexes.append(index)
    there, here = indexes
    assert set(there.query(sketch(theirs, asked))) == set(here.query(sketch(ours, asked)))
    assert there.keys.get(entries[0][0]) == here.keys.get(entries[0][0]) and there.get_counts() == here.get_counts()
    # A key that is removed is gone, with everything that was inserted under it.
    here.remove(entries[0][0])
    assert entries[0][0] not in here and entries[0][0] not in here.query(sketch(ours, asked[::-1]))


@unhurried
@given(st.lists(st.lists(st.binary(min_size=1, max_size=2), min_size=1, max_size=12), min_size=1, max_size=25))
def test_real_sketches_find_the_same(sets: list[list[bytes]]) -> None:
    answers = []
    for module in (theirs, ours):
        sketches = module.MinHash.bulk(sets, num_perm=64)
        index = module.MinHashLSH(threshold=0.5, num_perm=64)
        for key, made in enumerate(sketches):
            index.insert(key, module.LeanMinHash(made) if key % 2 else made)
        answers.append([set(index.query(made)) for made in sketches])
    assert answers[0] == answers[1]


def test_sketches_of_datasketch_can_be_put_into_our_index() -> None:
    index, there, here = ours.MinHashLSH(threshold=0.5), theirs.MinHash(), ours.MinHash()
    for made in (there, here):
        made.update_batch([b"one", b"two"])
    index.insert("theirs", there)
    assert index.query(here) == ["theirs"]
    with pytest.raises(ValueError, match="scheme"):
        index.query(theirs.MinHash(scheme="legacy"))


WRONG: list[dict[str, Any]] = [
    {"threshold": -0.1},
    {"threshold": 1.1},
    {"num_perm": 1},
    {"weights": (0.5, 0.6)},
    {"weights": (-0.5, 1.5)},
    {"params": (20, 20)},
    {"params": (1, 8)},
    {"storage_config": {"type": "unheard of"}},
    {"storage_config": {}, "threshold": 2},
    {"storage_config": {"kind": "dict"}},
]


@pytest.mark.parametrize("arguments", WRONG, ids=str)
def test_wrong_arguments_are_refused_alike(arguments: dict[str, Any]) -> None:
    there, here = (outcome(lambda: module.MinHashLSH(**arguments)) for module in (theirs, ours))
    assert isinstance(there, type) and there is here


def test_refusals() -> None:
    index = ours.MinHashLSH(storage_config={"type": "dict", "basename": b"any"})
    with pytest.raises(ValueError, match="at least 1 row"):
        ours.MinHashLSH(params=(4, 0))
    with pytest.raises(ValueError, match="lookalike.Index"):
        ours.MinHashLSH(storage_config={"type": "redis", "redis": {"host": "localhost", "port": 6379}})
    for call in (lambda made: index.insert("key", made), index.query, index.add_to_query_buffer):
        with pytest.raises(ValueError, match="128"):
            call(ours.MinHash(num_perm=64))
    index.insert("key", ours.MinHash())
    for call in (lambda made: index.insert("another", made), index.query):
        with pytest.raises(ValueError, match="scheme"):
            call(ours.MinHash(scheme="legacy"))
    with pytest.raises(TypeError):
        index.insert(["a list has no hash"], ours.MinHash())
    with pytest.raises(ValueError):
        index.merge(ours.MinHashLSH(threshold=0.5))
    with pytest.raises(ValueError):
        index.merge("no index")  # type: ignore[arg-type]
    assert index.keys.keys() == ["key"]
    index.insert("weighted", ours.MinHash())
    with pytest.raises(ValueError, match="another type"):
        index.insert("other", ours.WeightedMinHash(1, np.zeros((128, 2), dtype=int)))


def test_threads_may_share_an_index() -> None:
    sketches, errors = ours.MinHash.bulk([[b"%d" % (number // 3)] for number in range(900)]), []
    index = ours.MinHashLSH(threshold=0.8)

    def work(start: int) -> None:
        try:
            for number in range(start, 900, 3):
                index.insert(number, sketches[number])
                assert number in index.query(sketches[number])
                if number % 5 == 0:
                    index.remove(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(start,)) for start in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and len(index.keys) == 720
    for number, made in enumerate(sketches):
        three = {other for other in range(number // 3 * 3, number // 3 * 3 + 3) if other % 5}
        assert set(index.query(made)) == three


@pytest.mark.parametrize("module", [theirs, ours])
def test_no_number_is_no_threshold(module: Any) -> None:
    with pytest.raises(ValueError):
        module.MinHashLSH(threshold=float("nan"))
