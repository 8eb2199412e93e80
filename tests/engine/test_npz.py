"""Files of arrays from anywhere: what promises more than it holds, or other than plain numbers, is refused."""

import io
import zipfile

import numpy as np
import pytest

from engine.npz import read_npz


def write(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return path


def npy(array, **kwargs):
    out = io.BytesIO()
    np.save(out, array, **kwargs)
    return out.getvalue()


def test_arrays_of_every_kind_come_back(tmp_path):
    arrays = {
        "f8": np.random.default_rng(0).random((4, 3)), "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "bool": np.array([True, False]), "text": np.array(["a", "bc"]), "scalar": np.array(3),
        "empty": np.zeros((0, 3)), "big": np.arange(3, dtype=">i4"),
    }  # fmt: skip
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", **arrays)
        back = read_npz(tmp_path / "a.npz")
        assert set(back) == set(arrays)
        for name, array in arrays.items():
            assert back[name].dtype == array.dtype and np.array_equal(back[name], array), name
            assert back[name].flags.writeable


def test_what_is_hostile_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    huge = npy(np.zeros(3)).replace(b"'shape': (3,), }", b"'shape': (99999999999999,), }")
    cases = [
        (dict(a=npy(np.array([{"x": 1}], dtype=object), allow_pickle=True)), "plain numbers or text are read"),
        (dict(a=huge), "does not fit into"),
        (dict(a=npy(np.zeros(3))[:-8]), "has not the 24 bytes of its shape"),
        (dict(a=npy(np.zeros(3)) + b"more"), "has not the 24 bytes of its shape"),
        (dict(a=b"\x93NUMPY\x09\x00"), "npy version"),
        (dict(a=npy(np.zeros(3)).replace(b"(3,)", b"(-3,)")), "shape"),
        (dict(a=npy(np.zeros(3)).replace(b"{'descr'", b"{('descr")), "unreadable header"),
    ]
    for members, text in cases:
        with pytest.raises(ValueError, match=text):
            read_npz(write(path, **members))
    with pytest.raises(ValueError, match="take more than 1000 bytes"):
        read_npz(write(path, a=npy(np.zeros(200))), max_bytes=1000)
    path.write_bytes(b"not a zip")
    with pytest.raises(zipfile.BadZipFile):
        read_npz(path)
