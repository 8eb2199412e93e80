import zlib

import numpy as np

from app.record.points import BLOCK, LOST, decode_rows, encode_row, quantise, shuffle_bytes, to_metres, unshuffle_bytes
from app.record.records import rounded_bits, without_traces


def test_a_row_is_exact_to_half_a_micrometre():
    points = np.random.default_rng(0).uniform(-3.0, 3.0, (500, 3))
    back = to_metres(quantise(points))
    assert back.shape == (500, 3)
    assert 0.4e-6 < np.abs(back - points).max() <= 0.5e-6 + 1e-12


def test_blocks_decode_to_the_bit_whatever_the_motion():
    rng = np.random.default_rng(1)
    rows = rng.integers(-(2**31) + 1, 2**31, (5, 3, 40), dtype=np.int64).astype(np.int32)  # jumps that overflow
    rows[2, 1, 3] = LOST
    rows[3] = rows[2] + 1
    codes = [encode_row(rows[0], None)] + [encode_row(rows[i], rows[i - 1]) for i in range(1, 5)]
    np.testing.assert_array_equal(decode_rows(np.stack(codes)), rows)
    data = shuffle_bytes(codes[1])
    np.testing.assert_array_equal(unshuffle_bytes(data, np.dtype(np.uint32), (3, 40)), codes[1])


def test_small_steps_give_small_codes():
    um = np.tile(np.arange(10, dtype=np.int32) * 1000, (3, 1))
    moved = um - 5
    code = encode_row(moved, um)
    assert code[:, 0].tolist() == [9, 9, 9]  # -5 folded to unsigned
    assert not code[:, 1:].any()  # the neighbours moved alike


def test_lost_and_far_coordinates():
    points = np.array([[np.nan, 1.0, -np.inf], [1e9, -1e9, 0.0]])
    um = quantise(points)
    assert um[0, 0] == LOST and um[2, 0] == LOST and um[1, 0] == 1_000_000
    back = to_metres(um)
    assert np.isnan(back[0, 0]) and np.isnan(back[0, 2]) and back[0, 1] == 1.0
    assert back[1, 0] > 2147.0 and back[1, 1] < -2147.0


def test_smooth_motion_of_a_strip_is_ten_times_smaller_than_float32():
    along = np.repeat(np.linspace(0.0, 1.0, 150), 7)
    across = np.tile(np.linspace(-0.025, 0.025, 7), 150)
    size = 0
    previous = None
    for row in range(2 * BLOCK):
        t = row / 30.0
        lift = along**2 * 0.1 * (1.0 - np.cos(0.5 * t))
        points = np.stack(
            [along + 0.1 * np.sin(0.3 * t), across, 0.2 + lift + 1e-3 * np.sin(20 * along + 2 * t)], axis=1
        )
        um = quantise(points)
        size += len(zlib.compress(shuffle_bytes(encode_row(um, None if row % BLOCK == 0 else previous)), 4))
        previous = um
    assert size * 10 < 2 * BLOCK * len(along) * 12


def test_forces_on_points_are_rounded_to_a_twentieth_of_a_percent():
    rng = np.random.default_rng(3)
    force = 10.0 ** rng.uniform(-5, 4, (500, 3)) * rng.choice((-1.0, 1.0), (500, 3))
    back = without_traces(rounded_bits(force))
    assert back.dtype == np.float32
    error = np.abs(back / force - 1.0)
    assert 1e-4 < error.max() <= 2.0**-11 * (1 + 1e-6)  # rounded, and to the nearest
    assert not (back.view(np.uint32) & 0x1FFF).any()  # the bits that compression cannot shrink are gone
    special = np.array([0.0, -0.0, 9e-7, -9e-7, np.nan, np.inf, -np.inf, 3.4028e38])
    with np.errstate(over="ignore"):
        back = without_traces(rounded_bits(special))
    assert (back[:4] == 0.0).all() and np.isnan(back[4]) and back[5] == np.inf and back[6] == -np.inf
    assert np.isfinite(back[7]) or back[7] == np.inf
