"""What a scene file, a mesh file or an override says when it is wrong: the place, the value, the legal values."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where a value was written: a file with 1-based line and column, or the text of a `--set` override (line 0)."""

    source: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}" if self.line else self.source


class SceneError(ValueError):
    """A scene that cannot be loaded or built. The text starts with the place: `file:line:column: what is wrong`.

    Attributes: place (Place or None), message (the text without the place).
    """

    def __init__(self, message: str, place: Place | None = None):
        self.place = place
        self.message = message
        super().__init__(f"{place}: {message}" if place else message)


def did_you_mean(word: str, legal: Iterable[str]) -> str:
    """' (did you mean 'width'?)' when one of the legal words is close to the given one, else an empty text."""
    by_lower = {str(item).lower(): str(item) for item in legal}
    close = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return f" (did you mean '{by_lower[close[0]]}'?)" if close else ""


def legal_list(legal: Iterable[str]) -> str:
    """'a, b, c' for an error message."""
    return ", ".join(str(item) for item in legal)
