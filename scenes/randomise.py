"""The section `randomise`: which values of a scene are drawn for every world, and from what.

A draw replaces values as `--set` does, so every world is a scene of its own that can be run alone, to the bit. World k
gets the same values however many worlds there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from scenes.reading import Choice, Integer, ListOf, Record, Spec, Table, Text, setting
from scenes.yaml_tree import Tree

SPREADS = ("uniform", "log_uniform", "normal")
CHANGES = ("to", "add", "times")
SCOPES = ("world", "batch")


class Paths(Spec):
    """One dotted path or several that share a draw."""

    def read(self, tree: Tree, name: str) -> tuple[str, ...]:
        if isinstance(tree.value, list):
            return ListOf(Text()).read(tree, name)
        return (Text().read(tree, name),)

    def describe(self) -> str:
        return "a path as of `--set`, or a list of them"


class Written(Spec):
    """A value, or a list of values, kept as it is written: what it may be follows from the path it goes to."""

    def read(self, tree: Tree, name: str) -> str:
        if isinstance(tree.value, list):
            return "[" + ", ".join(self.read(item, f"{name}[{i}]") for i, item in enumerate(tree.value)) + "]"
        return self._scalar(tree, name)

    def describe(self) -> str:
        return "a value, or a list of values, as the path takes it"


@dataclass(frozen=True)
class Draw(Record):
    """Values drawn at random."""

    set: tuple = setting(Paths(), "what they replace; several paths get the same value")
    low: str | None = setting(Written(), "smallest value", None)
    high: str | None = setting(Written(), "largest value", None)
    choices: tuple = setting(ListOf(Written()), "in place of low and high: one of these", ())
    spread: str = setting(
        Choice(SPREADS), "log_uniform: evenly by factors; normal: middle and quarter of the range, cut at its ends",
        "uniform",
    )  # fmt: skip
    change: str = setting(Choice(CHANGES), "the value itself, or added to the scene's, or times the scene's", "to")
    per: str = setting(
        Choice(SCOPES), "world; or batch: one value for all worlds, which may change turns, lengths or cells",
        "world",
    )  # fmt: skip


@dataclass(frozen=True)
class Randomise(Record):
    """What differs between the worlds of a batch."""

    seed: int = setting(Integer(0, 2**31 - 1), "of all draws", 0)
    draws: tuple = setting(ListOf(Table(Draw, title="draw")), "in any order; the seed of each is its place here", ())


RANDOMISE = Table(Randomise, title="randomise")


def generator(seed: int, index: int, scope: str, world: int, batch: int, episode: int) -> np.random.Generator:
    """Random numbers of draw `index`: those of another draw, world or episode do not depend on them."""
    place = (0, world, episode) if scope == "world" else (1, batch, 0)
    return np.random.default_rng(np.random.SeedSequence([seed, index, *place]))


def sample(rng: np.random.Generator, spread: str, low: Any, high: Any) -> Any:
    """A value between low and high: numbers, or tuples drawn component by component; whole numbers stay whole.

    Raises ValueError when low lies above high, or is not positive for log_uniform.
    """
    a, b = np.asarray(low, float), np.asarray(high, float)
    if (a > b).any():
        raise ValueError(f"low {low} lies above high {high}")
    if spread == "log_uniform":
        if not (a > 0.0).all():
            raise ValueError(f"low {low} must be greater than 0 for log_uniform")
        value = np.exp(rng.uniform(np.log(a), np.log(b)))
    elif spread == "normal":
        value = np.clip(rng.normal(0.5 * (a + b), 0.25 * (b - a)), a, b)
    else:
        value = rng.uniform(a, b)
    if a.ndim:
        return tuple(float(v) for v in value)
    if isinstance(low, int) and isinstance(high, int):
        return int(min(rng.integers(low, high + 1) if spread == "uniform" else round(float(value)), high))
    return float(value)


def written(value: Any) -> str:
    """A value as an override writes it, exact."""
    if isinstance(value, tuple | list):
        return "[" + ", ".join(written(item) for item in value) + "]"
    return repr(value) if isinstance(value, float | int) else str(value)
