"""Worlds of a batch: the scene of each, drawn by its section `randomise`, and whether they fit into memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from engine.tactile.memory import free_bytes
from scenes.config import SceneConfig, overridden
from scenes.errors import SceneError
from scenes.randomise import Draw, generator, sample, written
from scenes.units import parse_quantity
from scenes.yaml_tree import Tree

SHARE = 0.8  # of the memory that is free: the rest is for the application and for contact lists that grow


def world_draw(
    config: SceneConfig, world: int, batch: int = 0, episode: int = 0, seed: int | None = None
) -> tuple[str, ...]:
    """Overrides of one world, `path=value` texts in SI units: with them the scene alone is that world.

    world: its index in the whole set of worlds; batch: number of the process, for draws per batch; episode: grows with
    every reset to a new start; seed: in place of the scene's, for draws per world. Raises SceneError naming the draw
    that does not fit the scene.
    """
    section, found = config.file.randomise, []
    if section and section.draws and config.tree is None:
        config = overridden(config, ())
    for index, draw in enumerate(section.draws if section else ()):
        chosen = section.seed if seed is None or draw.per == "batch" else seed
        rng = generator(chosen, index, draw.per, world, batch, episode)
        shared = rng.bit_generator.state
        for path in draw.set:
            rng.bit_generator.state = shared
            found.append(f"{path}={_value(config, draw, path, rng)}")
    return tuple(found)


def world_configs(config: SceneConfig, num_worlds: int, first: int = 0, batch: int = 0) -> list[SceneConfig]:
    """A config a world, for worlds first .. first + num_worlds - 1; the same object where nothing is drawn."""
    made: dict[tuple[str, ...], SceneConfig] = {(): config}
    configs = []
    for world in range(first, first + num_worlds):
        texts = world_draw(config, world, batch)
        if texts not in made:
            made[texts] = overridden(config, texts)
        configs.append(made[texts])
    return configs


def _value(config: SceneConfig, draw: Draw, path: str, rng) -> str:
    """What `path` gets."""
    if draw.choices:
        chosen = draw.choices[int(rng.integers(len(draw.choices)))]
        value_at(overridden(config, [f"{path}={chosen}"]), path)
        return chosen
    if draw.low is None or draw.high is None:
        raise SceneError("a draw needs 'low' and 'high', or 'choices'", draw.place)
    try:
        if draw.change == "times":
            factor = sample(rng, draw.spread, *(parse_quantity(text, "number") for text in (draw.low, draw.high)))
            return written(_combine(value_at(config, path), factor, lambda a, b: a * b))
        low, high = (_bound(config.tree, config, path, text) for text in (draw.low, draw.high))
        drawn = sample(rng, draw.spread, low, high)
        if draw.change == "add":
            drawn = _combine(value_at(config, path), drawn, lambda a, b: a + b)
        return written(drawn)
    except SceneError as error:
        raise SceneError(f"draw of {path}: {error.message}", draw.place) from None
    except (TypeError, ValueError) as error:
        raise SceneError(f"draw of {path}: {error}", draw.place) from None


_BOUNDS: WeakKeyDictionary = WeakKeyDictionary()  # tree of a scene -> values of its bounds, read once


def _bound(tree: Tree, config: SceneConfig, path: str, text: str) -> Any:
    known = _BOUNDS.setdefault(tree, {})
    if (path, text) not in known:
        known[path, text] = value_at(overridden(config, [f"{path}={text}"]), path)
    return known[path, text]


def _combine(base: Any, other: Any, operation) -> Any:
    if isinstance(base, tuple):
        parts = other if isinstance(other, tuple) else (other,) * len(base)
        return tuple(operation(a, b) for a, b in zip(base, parts, strict=True))
    if base is None:
        raise ValueError("the scene gives no value to change; write it there, or draw the value itself")
    value = operation(base, other)
    return round(value) if isinstance(base, int) else value


def value_at(config: SceneConfig, path: str) -> Any:
    """The number, or tuple of numbers, that a dotted path of `--set` means, in SI units. Raises SceneError."""
    keys = path.split(".")
    if keys[0] in config.file.entities:
        keys = ["entities", *keys]
    value: Any = config.file
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, tuple) and key.isdigit():
            value = value[int(key)]
        else:
            value = getattr(value, key, None)
    numbers = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(n, float | int) or n is None for n in numbers):
        raise SceneError(f"'{path}' is not a number, so it cannot be drawn between two; give 'choices'")
    return value


# Memory ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Need:
    """per_world, fixed: memory of an engine [byte]; estimated from the counts of one world."""

    per_world: float
    fixed: float

    def of(self, worlds: int) -> float:
        return self.fixed + worlds * self.per_world


def memory_need(model) -> Need:
    """From the Model of one world. Constants: bytes of the stepper's arrays, see `python -m bench tactile_worlds`."""
    blocks = sum(e.num_elements * e.num_blocks for e in model.energies)
    slots = sum(e.num_elements * e.stencil_size for e in model.energies)
    collision = model.collision
    features = len(collision.vertices) + len(collision.edges)
    # element blocks and their places in the matrix; nodes with matrix rows; points; a candidate for two features
    per_world = 130.0 * blocks + 60.0 * slots + 2400.0 * model.num_nodes + 700.0 * model.num_points + 800.0 * features
    return Need(per_world, 3e7)


def check_memory(model, worlds: int, free: float | None, place=None) -> None:
    """Raises SceneError when `worlds` worlds like `model` (of one world) will not fit into `free` memory [byte]."""
    need = memory_need(model)
    if free is None or need.of(worlds) <= SHARE * free:
        return
    most = max(int((SHARE * free - need.fixed) / need.per_world), 1)
    raise SceneError(
        f"{worlds} worlds of this scene need about {need.of(worlds) / 1e9:.1f} GB ({need.per_world / 1e6:.1f} MB a "
        f"world), and {free / 1e9:.1f} GB are free: at most about {most} worlds fit",
        place,
    )


def free_memory(device: str) -> float | None:
    """Memory that may still be taken on `device` [byte], None where the system does not say."""
    found = [value for value in (free_bytes(device), _group_room() if device == "cpu" else None) if value is not None]
    return float(min(found)) if found else None


def _group_room() -> float | None:
    """What is left of the limit of a container."""
    root = Path("/sys/fs/cgroup")
    try:
        limit = (root / "memory.max").read_text(encoding="ascii").strip()
        used = float((root / "memory.current").read_text(encoding="ascii"))
        return None if limit == "max" else float(limit) - used
    except (OSError, ValueError):
        return None
