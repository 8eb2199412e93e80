"""YAML and JSON with line numbers: errors of a key map or a script say file:line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """SafeLoader that remembers lines and refuses a key written twice (YAML itself keeps the last one silently)."""

    def construct_mapping(self, node, deep=False):
        lines: dict[Any, int] = {}
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            line = key_node.start_mark.line + 1
            if key in lines:
                raise ValueError(f"{self.name}:{line}: {key!r} is written twice (first in line {lines[key]})")
            lines[key] = line
        mapping = Mapping(super().construct_mapping(node, deep=True))
        mapping.lines, mapping.line = lines, node.start_mark.line + 1
        return mapping

    def construct_yaml_map(self, node):
        yield self.construct_mapping(node, deep=True)


_Loader.add_constructor("tag:yaml.org,2002:map", _Loader.construct_yaml_map)


class Mapping(dict):
    """A dict that knows the line of itself and of each key."""

    lines: dict[Any, int]
    line: int = 0


def load_document(path: str | Path) -> Any:
    """Content of a YAML or JSON file, mappings as `Mapping`. Raises ValueError (file:line) or FileNotFoundError."""
    path = Path(path)
    with path.open(encoding="utf-8") as stream:
        loader = _Loader(stream)
        loader.name = str(path)
        try:
            return loader.get_single_data()
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise ValueError(f"{path}:{line}: {error.problem or error.context}") from error
        finally:
            loader.dispose()
