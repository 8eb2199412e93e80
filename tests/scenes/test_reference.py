"""The schema reference is what the tables say."""

from pathlib import Path

from scenes.reference import reference
from scenes.schema import ENTITY_TABLES

PAGE = Path(__file__).parents[2] / "docs" / "scenes.md"


def test_page_is_generated_from_the_tables():
    assert PAGE.read_text(encoding="utf-8") == reference(), "run: python -m scenes.reference > docs/scenes.md"


def test_every_entity_key_is_explained():
    text = reference()
    for name, table in ENTITY_TABLES.items():
        section = text.split(f"### `type: {name}`\n")[1].split("\n### ")[0]
        for key, (_, doc, _) in table.fields().items():
            assert f"| `{key}` |" in section and doc
