"""The cutting scene: its script cuts the strip by pressure; with the blade blunt the same run leaves it whole."""

from __future__ import annotations

import numpy as np
import pytest

from app.headless import NullView
from app.loop import FrameLoop, Wiring
from app.operator import Operator
from app.scripted import open_input
from app.session import load_session
from scenes import load_config
from scenes.errors import SceneError
from scenes.measures import pieces, success

STEPS = 160  # the cut comes after about 100


def play(*overrides):
    """(session, what was said, pressure by step [Pa], lowest place of the strip)."""
    session, said, pressure = load_session("cut", overrides, "cpu"), [], []

    def note(frame) -> None:
        pressure.append(session.blade.contacts["strip"].pressure)

    loop = FrameLoop(
        session, Operator(open_input(f"scripted:{session.scene.script}", None)), NullView(say=said.append),
        Wiring(pacing=False, stop_on_failure=True, sinks=[note]),
    )  # fmt: skip
    assert loop.run(STEPS).failure == ""
    return session, said, np.array(pressure), session.engine.mesh_positions("strip")[:, 2].min()


@pytest.fixture(scope="module")
def runs():
    return play(), play("blade.enabled=false")


def test_the_script_cuts_and_the_matched_run_stays_whole(runs):
    (cut, said, pressure, low), (whole, unsaid, pressed, held) = runs
    above = np.flatnonzero(pressed > 1e3)
    made = [k for k, text in enumerate(said) if "strip cut" in text]
    assert len(made) == 1 and not any("cut" in text for text in unsaid)
    # the runs are one until the second step above the threshold; the cut follows before the next
    assert np.array_equal(pressure[: above[1] + 1], pressed[: above[1] + 1]) and above[1] == above[0] + 1
    assert pressure[above[1] + 1] < 0.5 * pressed[above[1] + 1]
    assert success("cut", cut.engine).done and success("cut", cut.engine).reached == "the strip is in 2 pieces"
    assert not success("cut", whole.engine).done and success("cut", whole.engine).reached == "the strip is whole"
    piece = pieces(cut.engine, "strip")
    rest = cut.engine.model.meshes["strip"].rest
    lips = rest[piece == piece[0], 0].max(), rest[piece != piece[0], 0].min()
    assert np.allclose(lips, 0.012, atol=0.019 / 6), "under the edge"
    assert low < held - 0.005, "the halves fall"


def test_a_whole_mesh_is_one_piece_and_a_notch_parts_nothing(runs):
    from engine import Cut

    engine = runs[1][0].engine
    assert not pieces(engine, "strip").any()
    engine.apply([Cut("strip", ((-0.03, -0.02), (-0.03, 0.0)))])
    assert not pieces(engine, "strip").any() and not success("cut", engine).done


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("blade.mesh=knif", "blade.mesh: there is no body or static 'knif'.*knife"),
        ("blade.targets=[left]", "blade.targets: there is no strip, sheet or roll 'left'.*legal: strip"),
        ("blade.targets=[]", "blade.targets is empty"),
        ("blade.edge=[[0, 0, 0], [0, 0, 0]]", "blade.edge has no length"),
        ("blade.threshold=0", "blade.threshold"),
        ("blade.steps=0", "blade.steps"),
        ("blade.sharp=true", "sharp.*threshold"),
    ],
)
def test_a_wrong_blade_is_named(override, message):
    with pytest.raises(SceneError, match=message):
        load_config("cut", [override])
