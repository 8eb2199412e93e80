"""Steps that follow each other in a log, sorted by what they hold and decoded together, a column at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from app.record.records import POINT_FORCES, rounded_bits, without_traces
from app.record.step_codec import Step, decode_texts

FORCES = {f"signals/{name}" for name in POINT_FORCES}
WINDOW_STEPS = 512
WINDOW_BYTES = 32 * 1024 * 1024


class StepGroup:
    """Steps of one layout whose arrays have the same shapes. `places`: where they stand in the window (k,)."""

    def __init__(self):
        self.steps: list[Step] = []
        self._places: list[int] = []

    def add(self, step: Step, place: int) -> None:
        self.steps.append(step)
        self._places.append(place)

    @property
    def places(self) -> np.ndarray:
        return np.asarray(self._places)

    def samples(self) -> Iterator[tuple[str, Any, int]]:
        """(path, a value that stands for `count` of them, count): every different text, one number, one array.

        Raises PackingError for texts that are none.
        """
        layout, count = self.steps[0].layout, len(self.steps)
        numbers = {path: 0.0 if code == "d" else 0 for path, code in layout.numbers}
        shapes = layout.shapes(self.steps[0].shapes)
        arrays = {
            path: np.broadcast_to(np.zeros((), dtype), shape)
            for (path, dtype, _), shape in zip(layout.arrays, shapes, strict=True)
        }
        different: dict[bytes, int] = {}
        for step in self.steps:
            different[step.text] = different.get(step.text, 0) + 1
        texts = [(decode_texts(text, len(layout.texts)), times) for text, times in different.items()]
        at = {path: number for number, path in enumerate(layout.texts)}
        for path, _ in layout.columns:  # in the order of the fields, which becomes that of the file
            if path in at:
                yield from ((path, values[at[path]], times) for values, times in texts)
            else:
                yield path, numbers[path] if path in numbers else arrays[path], count

    def values(self) -> dict[str, Any]:
        """path -> the values of all steps: an array (k, ...), or a list for texts; equal texts are one object."""
        layout, count = self.steps[0].layout, len(self.steps)
        found: dict[str, Any] = {}
        if layout.numbers:
            fields = [(str(i), "<f8" if code == "d" else "<i8") for i, (_, code) in enumerate(layout.numbers)]
            table = np.frombuffer(b"".join(step.numbers for step in self.steps), dtype=fields)
            found |= {path: table[str(i)] for i, (path, _) in enumerate(layout.numbers)}
        shapes = layout.shapes(self.steps[0].shapes)
        fields = [(str(i), dtype, shapes[i]) for i, (_, dtype, _) in enumerate(layout.arrays)]
        kind = np.dtype(fields)
        if kind.itemsize:
            table = np.frombuffer(b"".join(step.arrays for step in self.steps), dtype=kind)
            found |= {path: table[str(i)] for i, (path, _, _) in enumerate(layout.arrays)}
            for path in found.keys() & FORCES:
                if found[path].dtype == np.float32:
                    found[path] = without_traces(rounded_bits(found[path]))
        else:  # nothing but empty arrays
            found |= {
                path: np.zeros((count, *shape), dtype)
                for (path, dtype, _), shape in zip(layout.arrays, shapes, strict=True)
            }
        known: dict[bytes, list[Any]] = {}
        rows = []
        for step in self.steps:
            if step.text not in known:
                known[step.text] = decode_texts(step.text, len(layout.texts))
            rows.append(known[step.text])
        found |= {path: [row[i] for row in rows] for i, path in enumerate(layout.texts)}
        return found

    def numbers(self, path: str) -> np.ndarray:
        """One number of all steps (k,). Raises KeyError when the layout has no such number."""
        layout = self.steps[0].layout
        place = next((i for i, (name, _) in enumerate(layout.numbers) if name == path), None)
        if place is None:
            raise KeyError(path)
        data = np.frombuffer(b"".join(step.numbers for step in self.steps), dtype="<f8")
        return data.reshape(len(self.steps), -1)[:, place]


class StepWindow:
    """Collects steps until it is full."""

    def __init__(self):
        self.clear()

    def clear(self) -> None:
        self.steps: list[Step] = []
        self._groups: dict[tuple[int, bytes], StepGroup] = {}
        self._bytes = 0

    def add(self, step: Step) -> None:
        group = self._groups.setdefault((id(step.layout), step.shapes), StepGroup())
        group.add(step, len(self.steps))
        self.steps.append(step)
        self._bytes += len(step.arrays) + len(step.points)

    @property
    def full(self) -> bool:
        return len(self.steps) >= WINDOW_STEPS or self._bytes >= WINDOW_BYTES

    @property
    def groups(self) -> list[StepGroup]:
        return list(self._groups.values())
