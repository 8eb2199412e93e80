"""A short part of the bench case `fuzz`, with fixed seeds: damaged and hostile files are refused, in words."""

from __future__ import annotations

import random

import pytest

from bench.fuzz_mutations import mutate
from bench.fuzz_targets import TARGETS, variant

SLOW = {"scene_built", "episode_h5", "episode_log", "roll"}  # these have files and tests of their own


@pytest.mark.parametrize("target", [t for t in TARGETS if t.name not in SLOW], ids=lambda t: t.name)
def test_variants_are_read_or_refused(target, tmp_path):
    seeds = target.seeds()
    outcomes = {"read": 0, "refused": 0}
    for number in [None, *range(1_000_000, 1_000_012)]:
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / f"episode_0001{target.suffix}"
        path.write_bytes(seeds[0] if number is None else variant(target, seeds, number))
        if target.around is not None:
            target.around(folder)
        try:
            target.read(path)
            outcomes["read"] += 1
        except target.refusals():
            outcomes["refused"] += 1
    assert outcomes["read"] > 0, "not even the good file was read"


def test_a_variant_is_the_same_whenever_it_is_asked_for():
    target = next(t for t in TARGETS if t.name == "obj")
    seeds = target.seeds()
    assert variant(target, seeds, 5) == variant(target, seeds, 5) != variant(target, seeds, 6)
    changed = [mutate(b"v 0 0 0\n" * 20, b"f 1 2 3\n", random.Random(k)) for k in range(50)]
    assert len(set(changed)) > 40 and all(len(c) < 2_000_000 for c in changed)
