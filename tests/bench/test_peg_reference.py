"""Paper C's own peg, hole and 139-point pads, when they lie beside the checkout: gripped, lifted, inserted."""

import pytest

from app.headless import NullView
from app.loop import FrameLoop
from app.operator import Operator
from app.scripted import open_input
from app.session import load_session
from app.wiring import Wiring
from bench.peg_problem import STEPS, reference
from engine.contact.intersections import Intersections
from scenes.measures import success
from scenes.tactile_measures import inserted_depth


def test_the_reference_peg_is_gripped_and_inserted():
    overrides = reference()
    if overrides is None:
        pytest.skip("no reference peg beside the checkout; set TACKTILE_SHARED to the folder of the reference data")
    session = load_session("peg_insertion", overrides, "cpu")
    engine, session.pads = session.engine, []
    sizes = [len(engine.model.meshes[name].rest) for name in ("left_pad", "right_pad")]
    assert sizes == [139, 139]
    oracle, crossings, held = Intersections(engine.model.collision, engine.model.embedding), [], []

    def look(frame) -> None:
        if frame.index % 25 == 0:
            crossings.append(len(oracle.find(engine.positions())))
            held.append(len(engine.touching(["peg"])))

    wiring = Wiring(pacing=False, stop_on_failure=True, compute="cpu", sinks=[look])
    operator = Operator(open_input(f"scripted:{session.scene.script}"))
    outcome = FrameLoop(session, operator, NullView(say=lambda text: None), wiring).run(STEPS)
    assert outcome.failure == "" and len(crossings) >= 7 and not any(crossings)
    assert max(held) == 2, "both pads hold the peg"
    verdict = success("peg_insertion", engine)
    assert verdict.done, verdict.reached
    assert inserted_depth(engine)[0] > 19e-3
