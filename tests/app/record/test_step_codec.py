"""Steps as bytes: what goes in comes out, and nothing else is taken for a step."""

from __future__ import annotations

import dataclasses
import struct
import zlib
from enum import Enum
from types import SimpleNamespace

import numpy as np
import pytest

from app.record import Episode, Recorder, RecorderSettings, recover, state_hash
from app.record.columns import flatten
from app.record.framed_log import FILE_MAGIC, FramedLogWriter
from app.record.leaves import LeafReader, Leaves
from app.record.packing import PackingError, pack, plain
from app.record.points import encode_row, quantise, shuffle_bytes
from app.record.records import FRAME, KEYFRAME, START, STOP
from app.record.step_codec import StepDecoder, StepEncoder, StepLayout
from app.record.step_groups import StepGroup
from tests.app.record.fake_engine import DT, FakeEngine, frame_at, record


class Colour(str, Enum):
    RED = "red"


def written(encoder: StepEncoder, decoder: StepDecoder, leaves: dict, row: int):
    extra = {"note": {"events": ["a"]}}
    payload, layout = encoder.encode(Leaves.of(leaves), row, 7, 2, np.arange(6, dtype=np.uint32), extra)
    if layout is not None:
        decoder.add_layout({"columns": [list(column) for column in layout.columns]})
        encoder.settled()
    return decoder.decode(payload), layout is not None


def test_what_goes_in_comes_out():
    encoder, decoder = StepEncoder(), StepDecoder()
    rng = np.random.default_rng(5)
    leaves = {
        "a/f": 0.1, "a/i": -(2**62), "a/b": True, "a/t": "tape \u00e9 \ud800", "a/l": [1, "x", float("nan")],
        "a/big": 2**70, "a/x": rng.random((3, 4)), "a/e": np.zeros((0, 3), np.float32), "a/s": np.array(3, np.int16),
        "a/u": rng.integers(0, 255, (2, 2), np.uint8), "a/m": rng.random((4, 4)).T, "a/q": rng.random(3).astype(">f8"),
    }  # fmt: skip
    step, new = written(encoder, decoder, leaves, 1)
    assert new and (step.row, step.state_hash, step.num_points) == (1, 7, 2)
    assert step.extra == {"note": {"events": ["a"]}} and bytes(step.points) == np.arange(6, dtype=np.uint32).tobytes()
    group = StepGroup()
    group.add(step, 0)
    for k in range(1, 4):
        again, new = written(encoder, decoder, leaves | {"a/f": 0.1 + k, "a/x": leaves["a/x"] + k}, k + 1)
        assert not new, "the same fields need no new layout"
        group.add(again, k)
    values = group.values()
    assert values["a/f"].tolist() == [0.1, 1.1, 2.1, 3.1] and values["a/i"].tolist() == [-(2**62)] * 4
    assert values["a/b"].tolist() == [1] * 4 and values["a/t"][2] == leaves["a/t"] and values["a/big"][0] == 2**70
    assert str(values["a/l"][3]) == str([1, "x", float("nan")]) and values["a/q"][0] == leaves["a/q"].tolist()
    for name in ("a/x", "a/e", "a/s", "a/u", "a/m"):
        np.testing.assert_array_equal(values[name][0], leaves[name])
        assert values[name].dtype == leaves[name].dtype
    np.testing.assert_array_equal(values["a/x"][3], leaves["a/x"] + 3)


def test_fields_that_come_change_and_go_get_layouts_of_their_own():
    encoder, decoder = StepEncoder(), StepDecoder()
    seen = [written(encoder, decoder, leaves, k)[1] for k, leaves in enumerate((
        {"a": 1.0}, {"a": 2.0}, {"a": 1}, {"a": 2**63}, {"a": "x"}, {"a": 1.0, "b": 0}, {"a": 3.0}, {"a": np.zeros(2)},
        {"a": np.zeros(3)}, {"a": np.zeros((1, 3))}, {"a": np.zeros(2, np.float32)},
    ))]  # fmt: skip
    assert seen == [True, False, True, True, False, True, False, True, False, True, True]


def test_damaged_and_hostile_steps_are_refused():
    encoder, decoder = StepEncoder(), StepDecoder()
    payload, layout = encoder.encode(Leaves.of({"a": 1.0, "b": np.zeros(5), "c": "x"}), 1, 0, 0, b"", {})
    with pytest.raises(PackingError, match="a step of layout 0, there are 0"):
        decoder.decode(payload)
    decoder.add_layout({"columns": [list(column) for column in layout.columns]})
    assert decoder.decode(payload).row == 1
    for cut in (0, 10, len(payload) - 1):
        with pytest.raises(PackingError):
            decoder.decode(payload[:cut])
    huge = bytearray(payload)
    huge[40:44] = struct.pack("<I", 2**32 - 1)  # the array's size
    with pytest.raises(PackingError, match="arrays of 34359738360 bytes in 40"):
        decoder.decode(bytes(huge))
    for columns, why in (
        ((("a", "O"),), "has the code 'O', which is none"), ((("a", "<f8:9"),), "has 9 dimensions, at most 8"),
        ((("../a", "d"),), "is no path of a column"), ((("a//b", "d"),), "is no path"),
        ((("a", "d"), ("a", "q")), "twice"), ((("a", "<f3:1"),), "'<f3' is unknown"),
    ):  # fmt: skip
        with pytest.raises(PackingError, match=why):
            _ = StepLayout(columns).arrays


def test_leaves_are_those_of_the_nested_record():
    """One walk gives what packing and flattening gave."""
    reader = LeafReader(("rgb",))
    frame = frame_at(FakeEngine(300), 4)
    pad = {"force": np.arange(3.0), "rgb": np.zeros((2, 2, 3), np.uint8), "deep": {"er": [1, (2, 3)]}}
    frame = dataclasses.replace(
        frame,
        extra={"tactile": {"pad/1": pad}, "tape": {"x": None, "n": np.float32(2.5), "c": Colour.RED}, "s": {3, 1}},
    )
    for _ in range(2):  # the second time by the plan
        leaves = reader.read(frame).table()
        groups = {name: plain(getattr(frame, name)) for name in ("sample", "status", "command", "control", "report")}
        expected = flatten(groups | {"extra": plain({k: v for k, v in frame.extra.items() if k != "tactile"})})
        for path, value in expected.items():
            np.testing.assert_array_equal(np.asarray(leaves[path], object), np.asarray(value, object), err_msg=path)
        own = ("time/", "frame/", "signals/", "tactile/")
        assert {path for path in leaves if not path.startswith(own)} == set(expected)
        assert leaves["signals/contact_force"].dtype == np.float32 and leaves["tactile/pad_1/deep/er"] == [1, [2, 3]]
        assert "tactile/pad_1/rgb" in leaves
        assert "tactile/pad_1/rgb" not in reader.read(frame, with_images=False).paths
    other = dataclasses.replace(frame, sample=dataclasses.replace(frame.sample, gripper="odd"), status=None)
    assert reader.read(other).table()["sample/gripper"] == "odd" and "status/health" not in reader.read(other).paths


def old_log(folder, frames: int) -> tuple[FakeEngine, list]:
    """As version 1 of the log was written: a nested record a frame, BLAKE2b of every state."""
    engine, rows = FakeEngine(), []
    log = FramedLogWriter(folder / "episode_0001.log")
    code = lambda um, before: np.frombuffer(shuffle_bytes(encode_row(um, before)), np.uint8)  # noqa: E731
    um = quantise(engine.positions())
    start = {"scene_name": "old", "num_points": um.shape[1], "points": code(um, None), "instruction": "then"}
    log.append(START, pack(start | {"hash": state_hash(engine.get_state(), "blake2b")}))
    log.append(KEYFRAME, pack({"row": 0, "restart": False, "state": engine.get_state()}))
    for index in range(1, frames + 1):
        frame = frame_at(engine, index)
        record = {"time": {"simulated": frame.time_sim, "dt": DT}, "frame": {"index": index, "mode": "DRIVING"}}
        record |= {"control": plain(frame.control), "signals": plain(frame.signals)}
        before, um = um, quantise(frame.points)
        value = {"row": index, "frame": record, "points": code(um, None if index % 64 == 0 else before)}
        log.append(FRAME, pack(value | {"hash": state_hash(engine.get_state(), "blake2b")}))
        rows.append(engine.positions())
    log.append(STOP, pack({"row": frames}))
    log.close()
    head = struct.pack("<8sHH", FILE_MAGIC, 1, 0)
    with open(folder / "episode_0001.log", "r+b") as file:
        file.write(head + struct.pack("<I", zlib.crc32(head)))
    return engine, rows


def test_a_log_of_an_older_version_is_sealed_and_replayed_to_the_bit(tmp_path):
    from app.replay import InputReplay

    _, rows = old_log(tmp_path, 70)
    (found,) = recover(tmp_path)
    assert found.num_frames == 70, found.text
    with Episode(found.path) as episode:
        assert episode.instruction == "then" and not [f for f in episode.validate() if f.severity == "error"]
        for row in (1, 63, 64, 70):
            np.testing.assert_allclose(episode.positions(row), rows[row - 1], atol=6e-7)
        result = InputReplay(episode, FakeEngine(), lambda fields: SimpleNamespace(**fields)).run()
        assert result.exact, result.text


def test_hashes_of_some_frames_only(tmp_path):
    from app.replay import InputReplay

    engine = FakeEngine()
    settings = RecorderSettings(min_free_bytes=0, hash_every=4)
    recorder = Recorder(tmp_path, "fake", get_state=engine.get_state, settings=settings)
    record(recorder, engine, 30)
    recorder.close()
    with Episode(tmp_path / "episode_0001.h5") as episode:
        known = np.flatnonzero(episode.hashes()).tolist()
        assert known == [*range(0, 30, 4), 30], "the last state has one"
        assert episode.keyframe_rows.tolist() == [0, 30]
        control = lambda fields: SimpleNamespace(**fields)  # noqa: E731
        assert InputReplay(episode, FakeEngine(), control).run().exact

        class Off(FakeEngine):
            def step(self, control):
                report = super().step(control)
                if self.count[0] == 14:
                    self.v[0, 0] += 1e-15
                return report

        result = InputReplay(episode, Off(), control).run()
        assert result.first_divergence == 15 and "the 3 before it have no hash" in result.text and not result.exact
