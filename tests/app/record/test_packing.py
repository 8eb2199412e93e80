import json
import struct
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pytest

from app.record.packing import PackingError, pack, plain, unpack
from app.record.state_hash import state_hash


class Colour(str, Enum):
    RED = "red"


@dataclass
class Part:
    colour: Colour
    size: tuple
    array: np.ndarray


def test_round_trip_of_what_frames_hold():
    value = {
        "part": Part(Colour.RED, (1, 2.5), np.arange(6, dtype=np.float32).reshape(2, 3)),
        "set": frozenset({"b", "a"}),
        "$odd": {"$array": 1},
        "nan": float("nan"),
        "inf": -np.inf,
        "big": 2**60 + 1,
        "none": None,
        "scalar": np.float64(0.1),
        "zero": np.array(7.0),
        "empty": np.zeros((0, 3)),
        "bool": np.array([True, False]),
        "text": np.array(["ab", "c"]),
        "file": open,
    }
    out = unpack(pack(plain(value)))
    assert out["part"]["colour"] == "red" and out["part"]["size"] == [1, 2.5]
    np.testing.assert_array_equal(out["part"]["array"], value["part"].array)
    assert out["part"]["array"].dtype == np.float32
    assert out["set"] == ["a", "b"] and out["$odd"] == {"$array": 1}
    assert np.isnan(out["nan"]) and out["inf"] == -np.inf and out["big"] == 2**60 + 1 and out["none"] is None
    assert out["scalar"] == 0.1 and out["zero"].shape == () and out["zero"] == 7.0
    assert out["empty"].shape == (0, 3) and out["bool"].dtype == bool and out["text"].tolist() == ["ab", "c"]
    assert out["file"] == "<builtin_function_or_method>"  # the kind of thing, never an address


def hostile(tree, blob=b""):
    text = json.dumps(tree).encode()
    return struct.pack("<I", len(text)) + text + blob


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "too short"),
        (struct.pack("<I", 10) + b"{}", "claims 10 bytes"),
        (struct.pack("<I", 2) + b"{]", "not JSON"),
        (struct.pack("<I", 200000) + b"[" * 200000, "not JSON|nested"),
        (hostile({"$array": ["O", [1], 0]}, bytes(8)), "'O' is not a plain number"),
        (hostile({"$array": ["<f8", [10**9], 0]}, bytes(8)), "does not fit into 8 bytes"),
        (hostile({"$array": ["<f8", [-1], 0]}, bytes(8)), "not legal"),
        (hostile({"$array": ["<f8", [1], 8]}, bytes(8)), "does not fit"),
        (hostile({"$array": ["<f8", [1] * 60, 0]}, bytes(8)), "not legal"),
        (hostile({"$array": 3}), "malformed"),
    ],
)
def test_hostile_bytes(data, message):
    with pytest.raises(PackingError, match=message):
        unpack(data)


def test_state_hash_sees_every_bit_name_type_and_shape():
    state = {"x": np.arange(6.0).reshape(2, 3), "n": np.array([1], dtype=np.int64)}
    base = state_hash(state)
    assert base == state_hash({"n": state["n"].copy(), "x": state["x"].copy()}) != 0
    one_bit = state["x"].copy()
    one_bit.view(np.uint64)[1, 2] ^= 1
    for other in (
        {**state, "x": one_bit},
        {**state, "x": state["x"].reshape(3, 2)},
        {**state, "n": np.array([1], dtype=np.uint64)},
        {"y": state["x"], "n": state["n"]},
        {**state, "x": np.where(state["x"] == 0, -0.0, state["x"])},
    ):
        assert state_hash(other) != base
    with pytest.raises(TypeError, match="'x' has type object"):
        state_hash({"x": np.array([None])})
