"""YAML and JSON with line numbers: errors of a key map or a script say file:line. Bounded in size and depth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

MAX_BYTES = 1 << 20  # [byte] a file
MAX_VALUES = 50_000  # aliases counted each time they are used
MAX_DEPTH = 24
MAX_DIGITS = 100  # of a whole number


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
    """Content of a YAML or JSON file, mappings as `Mapping`. Raises ValueError (file:line) or FileNotFoundError.

    Plain values alone: tags that would make objects are refused, and so is what goes beyond the MAX_ limits.
    """
    path = Path(path)
    with path.open("rb") as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"{path}: over {MAX_BYTES} bytes, the most that is read")
    try:
        loader = _Loader(data.decode("utf-8"))
        loader.name = str(path)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _count(node, path)
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ValueError(f"{path}:{line}: {error.problem or error.context}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:  # e.g. a control character; has no mark
        raise ValueError(f"{path}: {error}") from None
    except (TypeError, AttributeError, OverflowError) as error:  # a key that is a list, a time that is none
        raise ValueError(f"{path}: not a plain value: {error}") from None
    except RecursionError:
        raise ValueError(f"{path}: nested deeper than {MAX_DEPTH}") from None


def load_plain(path: str | Path) -> Any:
    """The same with ordinary dicts. Raises as `load_document`."""
    return _plain(load_document(path))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _count(node: yaml.Node, path: Path) -> None:
    """Before anything is made of it: a few lines of aliases to aliases are billions of values."""
    left, stack = MAX_VALUES, [(node, 0)]
    while stack:
        item, depth = stack.pop()
        left -= 1
        if left < 0:
            raise ValueError(f"{path}:{item.start_mark.line + 1}: more than {MAX_VALUES} values, aliases counted")
        if depth > MAX_DEPTH:
            raise ValueError(f"{path}:{item.start_mark.line + 1}: nested deeper than {MAX_DEPTH}")
        if item.tag == "tag:yaml.org,2002:int" and len(item.value) > MAX_DIGITS:
            raise ValueError(f"{path}:{item.start_mark.line + 1}: a number of {len(item.value)} digits")
        if isinstance(item, yaml.SequenceNode):
            stack += [(one, depth + 1) for one in item.value]
        elif isinstance(item, yaml.MappingNode):
            stack += [(one, depth + 1) for pair in item.value for one in pair]
