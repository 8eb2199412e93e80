"""Hints of scenes name the keys of the key map in use."""

import re
from pathlib import Path

import pytest

from devices.contract import VERBS
from devices.keymap import AXIS_ACTIONS, load_keymap
from scenes.config import load_config

SCENES = sorted(path.stem for path in (Path(__file__).parents[2] / "scenes").glob("*.yaml"))


def test_a_hint_names_the_key_of_today():
    pytest.importorskip("polyscope")
    from app.view.keys import help_texts
    from app.view.panels.task import with_keys

    shown = help_texts(load_keymap().keys)
    assert with_keys("{next_tool}: roll it ({turn +y}), {gain_down}", shown) == "Tab: roll it (O), -"
    assert with_keys("lead it ({move -x})", {}) == "lead it (move -x)"


@pytest.mark.parametrize("scene", SCENES)
def test_what_shipped_hints_ask_for_is_an_action(scene):
    for hint in load_config(scene).file.task.hints:
        for action in re.findall(r"\{([^{}]+)\}", hint):
            assert action in AXIS_ACTIONS or action in VERBS, f"{scene}: {hint}"
