"""The house rules of docs/architecture.md: who may import whom, sizes, tidy files."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("app", "engine", "scenes", "devices")
SOURCES = sorted(p for room in (*ROOMS, "bench", "tests") for p in (ROOT / room).rglob("*.py"))
STANDARD = sys.stdlib_module_names | {"__future__"}

# Import names that a room may use beside the standard library and itself.
MAY_IMPORT = {
    "engine": {"numpy", "scipy", "warp"},
    "devices": {"numpy", "yaml"},  # yaml: key maps and scripts; drivers in addition, see DRIVERS
    "scenes": {
        *("engine", "numpy", "scipy", "trimesh", "yaml"),
        *("yourdfpy", "lxml", "collada", "fast_simplification"),  # robots and their meshes
    },
    "app": {
        *("engine", "scenes", "devices"),
        *("numpy", "scipy", "warp", "yaml", "h5py", "zstandard", "xxhash", "PIL", "typer", "rich"),
    },
}
LEARN = {"gymnasium", "torch"}  # of the extra `learn`, in app/environment*.py; torch inside a function
EXPORTS = {"av", "mcap", "pyarrow"}  # of the extra `export`, imported inside functions of app/export
DRIVERS = {"pyspacemouse", "easyhid", "sdl2", "xr", "cv2", "mediapipe"}  # in a function: the room loads without them

# Rows of the engine, lowest first: a module imports its own row and lower ones.
ROWS = (
    {"types", "options", "materials", "math", "npz", "live"},
    {"mesh", "distance"},
    {"energies", "contact", "adhesion"},
    {"linear", "reduce", "edits", "asked"},
    {"stepper", "working"},
    {"tape", "cutting", "tactile", "robots", "cameras"},
    {"builder"},
    {"engine", "saving", "signals", "settling", "topology", "yielding", "renewal", "pushing"},
)

MAX_FILE_LINES, MAX_FUNCTION_LINES = 500, 80
LONGER = {  # "path" or "path:function" -> why it may be longer
    "engine/contact/stencils.py:fold_kernel": "one line over, and all its branches share the same loaded blocks",
}


def _imports(tree: ast.AST, in_function: bool = False) -> Iterator[tuple[str, bool, int]]:
    """(dotted name, inside a function?, line) of every import but those under `if TYPE_CHECKING:`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, in_function, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            for alias in node.names:  # `from engine.contact import narrow` may mean the module engine.contact.narrow
                yield f"{node.module}.{alias.name}", in_function, node.lineno
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for other in node.orelse:
                yield from _imports(other, in_function)
        else:
            is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            yield from _imports(node, in_function or is_function)


def _of_room(room: str) -> Iterator[tuple[Path, str, bool, int]]:
    for path in SOURCES:
        relative = path.relative_to(ROOT)
        if relative.parts[0] == room and relative.parts[:2] != ("app", "installed"):  # becomes the package `tacktile`
            for name, in_function, line in _imports(ast.parse(path.read_text(encoding="utf-8"))):
                yield relative, name, in_function, line


def _wrong_rooms(room: str, imports: Iterator[tuple[Path, str, bool, int]]) -> list[str]:
    wrong = []
    for path, name, in_function, line in imports:
        top = name.split(".")[0]
        allowed = top in STANDARD or top == room or top in MAY_IMPORT[room]
        allowed = allowed or (room == "devices" and top in DRIVERS and in_function)
        allowed = allowed or (path.parts[:2] == ("app", "export") and top in EXPORTS and in_function)
        learns = path.parts[0] == "app" and path.name.startswith("environment") and (in_function or top != "torch")
        allowed = allowed or (learns and top in LEARN)
        if top == "polyscope":
            allowed = path.parts[:2] == ("app", "view")
        if not allowed:
            wrong.append(f"{path}:{line} imports {name}")
    return wrong


def _row(module: str) -> int:
    """Row of an engine module by dotted name; the package itself counts as the highest."""
    parts = module.split(".")
    for row, names in enumerate(ROWS):
        if len(parts) > 1 and parts[1] in names:
            return row
    return len(ROWS) - 1


def _wrong_rows(imports: Iterator[tuple[Path, str, bool, int]]) -> list[str]:
    wrong = []
    for path, name, _, line in imports:
        if name.split(".")[0] != "engine" or path == Path("engine/__init__.py"):
            continue
        if _row(name) > _row(".".join(path.with_suffix("").parts)):
            wrong.append(f"{path}:{line} imports {name}, which stands in a higher row")
    return wrong


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_import_only_what_they_may(room):
    assert not _wrong_rooms(room, _of_room(room))


def test_lower_rows_of_the_engine_never_import_higher_ones():
    assert not _wrong_rows(_of_room("engine"))


def test_every_engine_module_has_a_row():
    known = set().union(*ROWS) | {"__init__"}
    assert {p.stem for p in (ROOT / "engine").iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()} <= known


def test_the_rules_catch_what_they_should():
    def found(path: str, code: str):
        return [(Path(path), *found) for found in _imports(ast.parse(code))]

    assert _wrong_rooms("engine", iter(found("engine/a.py", "import yaml")))
    assert _wrong_rooms("engine", iter(found("engine/a.py", "def f():\n    from scenes.config import load")))
    assert _wrong_rooms("app", iter(found("app/loop.py", "import polyscope.imgui as psim")))
    assert not _wrong_rooms("app", iter(found("app/view/window.py", "import polyscope.imgui as psim")))
    assert _wrong_rooms("devices", iter(found("devices/a.py", "import pyspacemouse")))
    assert not _wrong_rooms("devices", iter(found("devices/a.py", "def f():\n    import pyspacemouse")))
    assert _wrong_rows(iter(found("engine/mesh/a.py", "from engine.linear import pcg")))
    assert _wrong_rows(iter(found("engine/linear/a.py", "from engine import Options")))
    assert not _wrong_rows(iter(found("engine/linear/a.py", "from engine.options import Options")))
    hidden = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from engine.engine import Engine"
    assert not _wrong_rows(iter(found("engine/types.py", hidden)))


def test_kernel_modules_switch_the_backward_pass_off():
    """Each module keeps its own options; one without the line would compile adjoints that nobody calls."""
    line = 'wp.set_module_options({"enable_backward": False})'
    wrong = []
    for path in (ROOT / "engine").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if ("@wp.kernel" in text or "@wp.func" in text) and f"\n{line}\n" not in text:
            wrong.append(str(path.relative_to(ROOT)))
    assert not wrong, f"write {line} right after the imports of {wrong}"


def _lengths() -> Iterator[tuple[str, int, int]]:
    """(name, lines, allowed) of every file and function."""
    for path in SOURCES:
        relative, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        yield relative, len(text.splitlines()), MAX_FILE_LINES
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield f"{relative}:{node.name}", node.end_lineno - node.lineno + 1, MAX_FUNCTION_LINES


def test_files_and_functions_are_short():
    long = {name: lines for name, lines, allowed in _lengths() if lines > allowed}
    assert {name: lines for name, lines in long.items() if name not in LONGER} == {}, "split, or say in LONGER why not"
    assert set(LONGER) <= set(long), "these are short now: take them out of LONGER"


def test_names_say_something():
    wrong = [str(p.relative_to(ROOT)) for p in SOURCES if p.stem in ("utils", "helpers", "misc", "common")]
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name.endswith("Manager"):
                wrong.append(f"{path.relative_to(ROOT)}: class {node.name}")
    assert not wrong


def test_ruff():
    command = [sys.executable, "-m", "ruff", "check", "--output-format=concise", "."]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
