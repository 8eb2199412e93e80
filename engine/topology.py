"""Edits that change an engine's numbers of points and nodes: cuts, made, checked, taken back and replayed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import warp as wp

from engine.builder.recut import plan, recut, surgery_of
from engine.cutting.cut import Cut, CutRecord, resolve
from engine.cutting.splitting import Node
from engine.cutting.transfer import Transfer, keep_materials, refuse_wound, riders_alike
from engine.types import State, StepReport

REPLACED = ("model", "cuts", "_riding", "interfaces", "rolls", "state")


def topology_of(engine) -> dict:
    """What a cut replaces as a whole."""
    return {name: getattr(engine, name) for name in REPLACED}


def restore_topology(engine, kept: dict) -> None:
    """Take `topology_of` back. Rebuild next."""
    for name, value in kept.items():
        setattr(engine, name, value)


def resolved(engine, edit: Cut, x: np.ndarray) -> CutRecord:
    """The record of a cut at node positions x (N, 3). Raises KeyError or ValueError for what does not fit."""
    base = engine._riding.base
    if edit.mesh not in base.meshes:
        raise KeyError(f"no mesh '{edit.mesh}'; available: {', '.join(base.meshes)}")
    if not 0 <= edit.world < base.num_worlds:
        raise ValueError(f"world is {edit.world}; this model has worlds 0..{base.num_worlds - 1}")
    return resolve(edit, base.meshes[edit.mesh], engine._riding.mesh_places(edit.mesh, edit.world, x))


def planned_cut(engine, edit: Cut) -> tuple[list[Cut], list[list[Node]]]:
    """The same cut in the rest plane, one edit a stretch, and the paths that it would take; nothing is changed. Raises
    like `Engine.apply`."""
    x, riding = engine.state.x.numpy(), engine._riding
    record = resolved(engine, edit, x)
    surgery, body_of = surgery_of(riding.base, record), np.full(riding.base.num_points, -1)
    body_of[riding.points] = riding.bodies
    for world in range(riding.base.num_worlds):  # a cut changes the mesh of all of them
        first = riding.base.meshes[edit.mesh].points.start + world * riding.base.points_per_world
        places = riding.mesh_places(edit.mesh, world, x)
        alike, body = riders_alike(surgery, body_of[first : first + len(places)])
        refuse_wound(surgery, alike, body, riding, edit.mesh, places)
    return [Cut(edit.mesh, line, world=edit.world) for line in record.lines], plan(engine._riding.base, record)


def make_cut(engine, edit: Cut, x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut and carry everything over; returns the new nodes' places and velocities. x, v (N, 3): the nodes now. Rebuild
    next. Raises KeyError or ValueError; nothing is changed then."""
    base = engine._riding.base
    record = resolved(engine, edit, x)
    surgery = surgery_of(base, record)
    model = recut(base, record, surgery)
    moved = Transfer(engine._riding, model, edit.mesh, surgery, x)
    interfaces, rolls = moved.interfaces(engine.interfaces), moved.rolls(engine.rolls)
    old = engine.state
    arrays = {
        "x": moved.nodes(x, "place"),
        "v": moved.nodes(v, "velocity"),
        "x_prev": moved.nodes(old.x_prev.numpy(), "place"),
        "v_prev": moved.nodes(old.v_prev.numpy(), "velocity"),
    }
    engine.state = State(
        **{name: wp.array(values, dtype=wp.vec3d, device=model.device) for name, values in arrays.items()},
        step_index=old.step_index,
        time=old.time,
    )
    engine.model, engine._riding, engine.interfaces, engine.rolls = model, moved.riding, interfaces, rolls
    engine.cuts = [*engine.cuts, record]
    return arrays["x"], arrays["v"]


def check_apart(engine) -> None:
    """Raises ValueError when pieces of a cut mesh would start overlapping: cells smaller than its thickness."""
    system = engine.newton.system
    if not system.has_contact:
        return
    system.points_dx.zero_()
    engine.newton._update_candidates(StepReport())
    system.detect()
    gap = float(system.worlds.min_gap.numpy().min())
    system.candidates.invalidate()
    if not gap > 0.0:
        raise ValueError(
            f"the cut is refused: pieces of the mesh would start overlapping by {-gap:.3g} m. Cells near the cut are "
            "too small for the contact thickness of the mesh; cut elsewhere or use a coarser mesh"
        )


def replay_cuts(engine, records: list[CutRecord]) -> None:
    """The initial state of the model with these cuts. Rebuild next."""
    model = engine._uncut
    for record in records:
        model = recut(model, record, surgery_of(model, record))
    start_from(engine, model, list(records))


def start_from(engine, model, records: list[CutRecord]) -> None:
    """The initial state of a model of the same scene; edited materials stay. Rebuild next."""
    before, newest = engine.interfaces, engine.model.topology_version
    engine._start(replace(model, topology_version=max(model.topology_version, newest + 1)), records)
    keep_materials(before, engine.interfaces)
