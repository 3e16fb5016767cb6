"""The same calls on sketches of datasketch and of lookalike.datasketch give the same numbers."""

from __future__ import annotations

import copy
import pickle
import struct
import threading
from typing import Any

import datasketch as theirs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike.datasketch as ours

unhurried = settings(max_examples=60, deadline=None)
SCHEMES = ["affine32", "affine64", "legacy"]
elements = st.binary(max_size=150)
sets = st.lists(elements, max_size=30)
kinds = st.fixed_dictionaries(
    {"scheme": st.sampled_from(SCHEMES), "num_perm": st.integers(1, 200), "seed": st.integers(0, 2**32 - 1)}
)


def pair(**arguments: Any) -> tuple[theirs.MinHash, ours.MinHash]:
    return theirs.MinHash(**arguments), ours.MinHash(**arguments)


def assert_same(left: Any, right: Any) -> None:
    assert left.hashvalues.dtype == right.hashvalues.dtype
    assert left.hashvalues.tolist() == right.hashvalues.tolist()


def outcome(call: Any) -> Any:
    """What a call gives, or the type of its refusal."""
    try:
        return call()
    except Exception as error:
        return type(error)


@unhurried
@given(kinds, sets, sets, st.booleans())
def test_updates_give_the_same_hash_values(kind: Any, batch: list[bytes], single: list[bytes], looks: bool) -> None:
    left, right = pair(**kind)
    assert left.permutations.tolist() == right.permutations.tolist()
    for sketch in (left, right):
        sketch.update_batch(batch)
        # Whether somebody has seen the values in between makes no difference.
        if looks:
            sketch.hashvalues
        for element in single:
            sketch.update(element)
    assert_same(left, right)
    assert left.is_empty() == right.is_empty() == (not batch and not single)
    assert np.array_equal(left.count(), right.count(), equal_nan=True)
    assert len(left) == len(right) == right.num_perm


@unhurried
@given(kinds, sets, sets, sets)
def test_comparing_merging_and_copying(kind: Any, first: list[bytes], second: list[bytes], more: list[bytes]) -> None:
    answers = []
    for module in (theirs, ours):
        one, two = module.MinHash(**kind), module.MinHash(**kind)
        one.update_batch(first)
        two.update_batch(second)
        union = module.MinHash.union(one, two)
        copied = one.copy()
        copied.update_batch(more)
        similarity = one.jaccard(two)
        one.merge(two)
        lean = module.LeanMinHash(one)
        assert lean == lean.copy() and lean.hashvalues.tolist() == one.hashvalues.tolist()
        two.clear()
        assert two.is_empty() and (one == two) == one.is_empty()
        united_lean = module.LeanMinHash.union(lean, module.LeanMinHash(copied))
        answers.append(
            [similarity, union.digest().tolist(), copied.digest().tolist(), one.digest().tolist(), hash(lean)]
            + [united_lean.digest().tolist(), lean.jaccard(copied), union == one]
        )
    assert answers[0] == answers[1]


@unhurried
@given(st.lists(sets, max_size=8), st.sampled_from(SCHEMES), st.booleans())
def test_many_at_once(many: list[list[bytes]], scheme: str, in_tuples: bool) -> None:
    given_sets = [tuple(elements) if in_tuples else elements for elements in many]
    expected = [sketch.hashvalues.tolist() for sketch in theirs.MinHash.bulk(given_sets, scheme=scheme, num_perm=40)]
    for made in (
        ours.MinHash.bulk(given_sets, scheme=scheme, num_perm=40),
        list(ours.MinHash.generator(iter(given_sets), scheme=scheme, num_perm=40)),
        ours.MinHash.bulk((iter(elements) for elements in given_sets), scheme=scheme, num_perm=40),
    ):
        assert [sketch.hashvalues.tolist() for sketch in made] == expected
        assert all(type(sketch) is ours.MinHash for sketch in made)


def test_many_at_once_on_several_threads_keep_their_order() -> None:
    many = [[b"%d" % (number * 31 % 977) for number in range(start, start + 1 + start % 90)] for start in range(3000)]
    expected = theirs.MinHash.bulk(many, num_perm=16)
    made = ours.MinHash.bulk(many, num_perm=16)
    assert [sketch.hashvalues.tolist() for sketch in made] == [sketch.hashvalues.tolist() for sketch in expected]
    # A set of something else than bytes among the others is hashed by calling Python.
    many[1500] = [bytearray(b"one"), memoryview(b"two")]  # type: ignore[list-item]
    assert ours.MinHash.bulk(many, num_perm=16)[1500].hashvalues.tolist() == (
        theirs.MinHash.bulk(many[1500:1501], num_perm=16)[0].hashvalues.tolist()
    )


@unhurried
@given(st.sampled_from(SCHEMES), st.data())
def test_bytes_of_lean_sketches_go_both_ways(scheme: str, data: st.DataObject) -> None:
    order = data.draw(st.sampled_from("@=<>!"))
    left, right = pair(scheme=scheme, num_perm=data.draw(st.integers(1, 20)), seed=data.draw(st.integers(0, 99)))
    batch = data.draw(sets)
    left.update_batch(batch)
    right.update_batch(batch)
    buffers = []
    for module, sketch in ((theirs, left), (ours, right)):
        lean = module.LeanMinHash(sketch)
        buffer = bytearray(lean.bytesize(order) + 3)
        lean.serialize(buffer, order)
        buffers.append(bytes(buffer))
        with pytest.raises(ValueError):
            lean.serialize(bytearray(lean.bytesize(order) - 1), order)
    assert buffers[0] == buffers[1]
    there, here = theirs.LeanMinHash.deserialize(buffers[1], order), ours.LeanMinHash.deserialize(buffers[0], order)
    assert (there.seed, there.scheme) == (here.seed, here.scheme)
    assert_same(there, here)
    cut = data.draw(st.integers(0, len(buffers[0]) - 4))
    for module in (theirs, ours):
        with pytest.raises(struct.error):
            module.LeanMinHash.deserialize(buffers[0][:cut], order)


@unhurried
@given(st.sampled_from(SCHEMES), st.integers(0, 32), st.floats(0, 0.9), sets, sets)
def test_b_bit_sketches(scheme: str, b: int, r: float, first: list[bytes], second: list[bytes]) -> None:
    answers = []
    for module in (theirs, ours):
        sketches = module.MinHash.bulk([first, second], scheme=scheme, num_perm=37)
        one, two = (module.bBitMinHash(sketch, b, r) for sketch in sketches)
        again = pickle.loads(pickle.dumps(one))
        assert again == one
        answers.append([outcome(lambda: one.jaccard(two)), one.bytesize(), bytes(one.__getstate__()), one == two])
        answers[-1].append(one.hashvalues.tolist())
    assert answers[0] == answers[1]


def test_pickles_and_copies() -> None:
    for scheme in SCHEMES:
        sketch = ours.MinHash(num_perm=20, seed=7, scheme=scheme)
        sketch.update(b"one")
        sketch.note = "kept"  # type: ignore[attr-defined]
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            again = pickle.loads(pickle.dumps(sketch, protocol))
            assert again == sketch and again.note == "kept"
            again.update(b"two")
            assert again != sketch
        assert copy.deepcopy(sketch) == sketch
        lean = ours.LeanMinHash(sketch)
        assert pickle.loads(pickle.dumps(lean)) == lean and len({lean, copy.copy(lean)}) == 1
        # What datasketch pickles has the same parts, but for what it keeps on a GPU.
        state = theirs.MinHash(num_perm=20, seed=7, scheme=scheme).__getstate__()
        assert set(state) - set(sketch.__getstate__()) == {"_a_gpu", "_b_gpu"}
        taken = ours.MinHash.__new__(ours.MinHash)
        taken.__setstate__(state)
        taken.update(b"one")
        assert taken == sketch


def test_arrays_that_were_handed_out_stay_as_they_are() -> None:
    for module in (theirs, ours):
        sketch = module.MinHash(num_perm=8)
        before = sketch.hashvalues
        assert sketch.hashvalues is before
        sketch.update(b"one")
        assert (before == 2**32 - 1).all() and not sketch.is_empty()
        # What is written into the array that is the state now, is the state.
        sketch.hashvalues[0] = 7
        copied = sketch.copy()
        assert sketch.digest()[0] == copied.hashvalues[0] == 7
        copied.hashvalues[0] = 9
        assert sketch.hashvalues[0] == 7
        sketch.hashvalues = np.full(8, 5, dtype=np.uint32)
        sketch.update(b"two")
        assert sketch.hashvalues.max() <= 5


class Element:
    """Something that is hashed by a function of the user's."""

    def __init__(self, value: int) -> None:
        self.value = value


@unhurried
@given(st.sampled_from(SCHEMES), st.lists(st.integers(0, 2**32 - 1), max_size=20))
def test_hash_functions_in_python(scheme: str, values: list[int]) -> None:
    left, right = pair(scheme=scheme, num_perm=30, hashfunc=lambda element: element.value)
    for sketch in (left, right):
        sketch.update_batch(Element(value) for value in values)
        for value in values[:3]:
            sketch.update(Element(value))
    assert_same(left, right)


odd_hashes = st.one_of(
    st.integers(-3, 2**65), st.floats(0, 1e9), st.booleans(), st.text(max_size=3), st.none(),
    st.integers(0, 2**32 - 1).map(np.uint32), st.integers(-5, 2**40).map(np.int64),
)  # fmt: skip


@unhurried
@given(st.sampled_from(SCHEMES), odd_hashes)
def test_hashes_of_any_kind_are_taken_or_refused_alike(scheme: str, hash: Any) -> None:
    answers = []
    for module in (theirs, ours):
        sketch = module.MinHash(scheme=scheme, num_perm=4, hashfunc=lambda _: hash)
        answers.append([outcome(lambda: sketch.update_batch([b"x"])), sketch.hashvalues.tolist()])
        # In a single update of the old scheme numpy computes with whatever the function gave; here it is a number first.
        if scheme != "legacy" or type(hash) is int:
            answers[-1] += [outcome(lambda: sketch.update(b"x")), sketch.hashvalues.tolist()]
    assert answers[0] == answers[1]


things = st.sampled_from([
    b"bytes", "text", bytearray(b"array"), memoryview(b"view"), np.int64(7), np.float32(1.5), 5, None, ["a list"],
    np.arange(3, dtype=np.uint16),
])  # fmt: skip


@unhurried
@given(things, st.lists(things, max_size=3))
def test_elements_of_any_kind_are_taken_or_refused_alike(thing: Any, batch: list[Any]) -> None:
    answers = []
    for module in (theirs, ours):
        sketch = module.MinHash(num_perm=4)
        calls = [lambda: sketch.update(thing), lambda: sketch.update_batch(batch), lambda: sketch.update_batch(thing)]
        answers.append([outcome(call) for call in calls] + [sketch.hashvalues.tolist()])
    assert answers[0] == answers[1]


@pytest.mark.parametrize("dtype", ["u1", "i4", "i8", "f4", "f8", ">i4", "S3", "c16", "bool"])
def test_arrays_of_numbers_are_sets_of_their_elements(dtype: str) -> None:
    values = (np.arange(60) % 17).astype(dtype)
    for array in (values, values[::2], values.reshape(6, 10)):
        left, right = pair(num_perm=16)
        assert outcome(lambda: left.update_batch(array)) == outcome(lambda: right.update_batch(array))
        assert_same(left, right)
    rows = values.reshape(6, 10)
    made, expected = ours.MinHash.bulk(rows, num_perm=16), theirs.MinHash.bulk(rows, num_perm=16)
    assert [sketch.hashvalues.tolist() for sketch in made] == [sketch.hashvalues.tolist() for sketch in expected]


@unhurried
@given(st.lists(st.binary(max_size=300).flatmap(lambda value: st.sampled_from([value, bytearray(value)])), max_size=10))
def test_xxhash_is_known_and_gives_the_same(values: list[Any]) -> None:
    xxhash = pytest.importorskip("xxhash")
    for function, scheme in [
        (xxhash.xxh32_intdigest, "affine32"),
        (xxhash.xxh64_intdigest, "affine64"),
        (xxhash.xxh3_64_intdigest, "affine64"),
    ]:
        left, right = pair(scheme=scheme, num_perm=8, hashfunc=function)
        left.update_batch(values)
        right.update_batch(values)
        assert_same(left, right)
    for value in values:
        whole = xxhash.xxh3_64_intdigest(value)
        assert ours.xxh3_hash64(value) == whole and ours.xxh3_hash32(value) == whole % 2**32
    with pytest.raises(TypeError):
        ours.xxh3_hash32("no bytes")
    with pytest.raises(ValueError, match="does not fit"):
        ours.MinHash(hashfunc=ours.xxh3_hash64).update_batch([b"%d" % number for number in range(9)])


def test_xxh3_of_every_length() -> None:
    xxhash = pytest.importorskip("xxhash")
    values = [bytes(7 * at * at % 251 for at in range(length)) for length in range(300)]
    assert [ours.xxh3_hash64(value) for value in values] == [xxhash.xxh3_64_intdigest(value) for value in values]


WRONG: list[dict[str, Any]] = [
    {"num_perm": 0},
    {"num_perm": 2**32 + 1},
    {"num_perm": "many"},
    {"scheme": "unheard of"},
    {"hashfunc": 5},
    {"seed": -1},
    {"hashvalues": [1, 2]},
    {"permutations": [[1], [2]]},
    {"scheme": "affine32", "hashvalues": [2**32]},
    {"scheme": "affine32", "hashvalues": np.array([-1])},
    {"scheme": "affine64", "hashvalues": [-1]},
    {"scheme": "affine32", "hashvalues": []},
    {"scheme": "affine32", "hashvalues": [1, 2], "permutations": [[1], [2]]},
    {"scheme": "affine32", "num_perm": 1, "permutations": [[2], [2]]},
    {"scheme": "legacy", "hashvalues": [1, 2], "permutations": [[1], [2]]},
]


@pytest.mark.parametrize("arguments", WRONG, ids=str)
def test_wrong_arguments_are_refused_alike(arguments: dict[str, Any]) -> None:
    there, here = (outcome(lambda: module.MinHash(**arguments)) for module in (theirs, ours))
    assert isinstance(there, type) and there is here


def test_what_cannot_be_compared_is_refused() -> None:
    sketch = ours.MinHash()
    for other in (ours.MinHash(scheme="legacy"), ours.MinHash(seed=2), ours.MinHash(num_perm=64)):
        for call in (sketch.jaccard, sketch.merge, lambda other: ours.MinHash.union(sketch, other)):
            with pytest.raises(ValueError):
                call(other)
        assert sketch != other
    with pytest.raises(ValueError):
        ours.MinHash.union(sketch)
    with pytest.raises(TypeError):
        hash(sketch)
    lean = ours.LeanMinHash(sketch)
    with pytest.raises(TypeError):
        lean.update(b"more")
    for name in ("permutations", "hashfunc", "num_perm"):
        assert not hasattr(lean, name)
    with pytest.raises(AttributeError):
        lean.update_batch([b"more"])
    with pytest.warns(DeprecationWarning):
        ours.MinHash(hashobj=object())
    with pytest.raises(RuntimeError):
        ours.MinHash(gpu_mode="always").update_batch([b"one"])
    ours.MinHash(gpu_mode="detect").update_batch([b"one"])


def test_sketches_of_datasketch_can_be_compared_with_ours() -> None:
    left, right = pair()
    left.update_batch([b"one", b"two"])
    right.update_batch([b"two", b"three"])
    assert right.jaccard(left) == left.jaccard(right)
    right.merge(left)
    left.update(b"three")
    assert_same(left, right)


class Named(ours.MinHash):
    """A class of the user's, with an argument more."""

    def __init__(self, name: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.name = name


def test_classes_can_be_derived() -> None:
    sketch = Named("mine", num_perm=16)
    sketch.update(b"one")
    assert len(sketch) == 16 and sketch.name == "mine"
    again = pickle.loads(pickle.dumps(sketch))
    assert type(again) is Named and again.name == "mine" and again == sketch
    assert type(sketch.copy()) is ours.MinHash


def test_threads_may_share_a_sketch() -> None:
    shared, errors = ours.MinHash(), []

    def work(start: int) -> None:
        try:
            for number in range(start, start + 300):
                shared.update(b"%d" % number)
                shared.update_batch([b"%d" % other for other in range(number, number + 5)] * 900)
                shared.hashvalues, shared.is_empty(), shared.jaccard(shared)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(start,)) for start in (0, 150, 1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_hash_function_may_ask_the_sketch(seed: int) -> None:
    sketch = ours.MinHash(seed=seed, hashfunc=lambda element: len(sketch) + int(sketch.is_empty()) + len(element))
    sketch.update(b"one")
    sketch.update_batch([b"one", b"three"])
    assert not sketch.is_empty()


def test_the_modulus_of_the_old_scheme_at_its_edges() -> None:
    prime = 2**61 - 1
    multipliers = [1, 1, 1, 1, 1, 2**32 + 1, prime - 1, 8, 9]
    addends = [prime - 1, prime - 2, prime, prime - 3, 2 * prime - 1, prime, 2**64 - 1, 0, 8 * prime - 9]
    permutations = np.array([multipliers, addends], dtype=np.uint64)
    for hash in (0, 1, 2, 3, 2**31, 2**32 - 1):
        arguments = {"num_perm": 9, "permutations": permutations, "scheme": "legacy", "hashfunc": lambda _: hash}
        left, right = pair(**arguments)
        left.update_batch([b"x"])
        right.update_batch([b"x"])
        assert_same(left, right)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_elements_of_every_length(scheme: str) -> None:
    elements = [bytes(range(length)) for length in range(256)]
    made, expected = (
        module.MinHash.bulk([[element] for element in elements], num_perm=8, scheme=scheme) for module in (ours, theirs)
    )
    assert [sketch.hashvalues.tolist() for sketch in made] == [sketch.hashvalues.tolist() for sketch in expected]


@pytest.mark.parametrize("module", [theirs, ours])
def test_fewer_bits_do_not_merge_with_all(module: Any) -> None:
    sketch = module.MinHash()
    sketch.update(b"a")
    before = sketch.hashvalues.copy()
    few = module.bBitMinHash(sketch)
    for use in (sketch.merge, sketch.jaccard):
        with pytest.raises(TypeError):
            use(few)
    assert (sketch.hashvalues == before).all()
