"""What the documents say about files, keys and versions is true."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _ids(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("document", DOCUMENTS, ids=_ids)
def test_links_lead_somewhere(document):
    text = document.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    missing = [t for t in targets if "://" not in t and not (document.parent / t).exists()]
    assert not missing


@pytest.mark.parametrize("document", [ROOT / "README.md", ROOT / "docs" / "architecture.md"], ids=_ids)
def test_named_files_exist(document):
    """`engine/stepper/newton.py` in backticks must be there; globs and placeholders are left alone."""
    rooms = "app|engine|scenes|devices|assets|tests|bench|docs"
    named = re.findall(rf"`((?:{rooms})/[\w./-]*)`", document.read_text(encoding="utf-8"))
    assert named and not [name for name in named if not (ROOT / name).exists()]


def test_first_keys_of_the_readme_are_those_of_the_key_map():
    """Rows `| what | `K` `L` | name, name |`: the keys are those of the named actions, all of them."""
    actions = yaml.safe_load((ROOT / "assets" / "keymap.yaml").read_text(encoding="utf-8"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|]+ \| ([^|]+) \| ((?:move|turn|grip|verbs)\.[^|]+) \|$", readme, re.M)
    assert len(rows) >= 8
    for keys, names in rows:
        bound: list[str] = []
        for name in names.replace(" ", "").split(","):
            group, action = name.split(".")
            found = [a for a in actions[group] if action in (a, "*")]
            assert found, f"README names {name}, which the key map does not have"
            bound += [key for a in found for key in actions[group][a]]
        assert sorted(re.findall(r"`([^`]+)`", keys)) == sorted(bound), names


def test_change_log_and_python_versions_follow_the_package():
    package = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    version = re.search(r'^version = "(.+)"', package, re.M)[1]
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    low, high = re.search(r'requires-python = ">=3\.(\d+),<3\.(\d+)"', package).groups()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"Python 3.{low} to 3.{int(high) - 1}" in readme
    assert int(low) <= sys.version_info.minor < int(high)


def test_decisions_say_what_and_why():
    for path in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        assert text.startswith("# ") and len(text.split()) > 60, path.name
