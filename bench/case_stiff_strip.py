"""Case `stiff_strip`: packaging tape backing, 150 rows of 7 points, dt 1/30 s: falling, pulled, pressed."""

from __future__ import annotations

import numpy as np

from bench.measure import add_stages, emit_shares, largest_difference, one_core
from bench.registry import Emit
from engine import ContactMaterial, Engine, ModelBuilder, Options, ShellMaterial
from engine.mesh import shapes

DESCRIPTION = "stiff strip falling, pulled, pressed: PCG and Newton iterations, velocity against a tight solve"

ROWS, ACROSS, WIDTH = 150, 6, 0.048
CELL = WIDTH / ACROSS
STRIP = ShellMaterial(young=1.5e9, poisson=0.35, thickness=0.079e-3, density=1000.0)
CONTACT = ContactMaterial(dhat=3e-4, half_thickness=0.0395e-3, kappa=1e5, friction_mu=0.3)
DT = 1.0 / 30.0
STEPS = 30
PROBE_EVERY = 3  # steps between comparisons with the tight solve
JACOBI_PROBES = 6  # the first steps that need more than two iterations, solved with block Jacobi too, which takes long
MOVING = 0.05  # [m/s] largest speed before or after a step that is not counted as rest
SETTINGS = {"newton_tolerance": 1e-2, "linear_tolerance": 1e-3}
TIGHT = {"newton_tolerance": 1e-6, "linear_tolerance": 1e-8, "contact_tolerance": 1e-6, "newton_max_iterations": 500}
# at 1e-3 block Jacobi stops falsely: its update is wrong by up to its own size; at 1e-5 it is right to a few percent
LINEAR = {"linear_solver": "pcg", "linear_tolerance": 1e-5, "linear_max_iterations": 6000}
JACOBI = {**SETTINGS, **LINEAR, "newton_max_iterations": 3}


def run(emit: Emit, compute: str) -> None:
    totals = []
    with one_core():
        for motion in MOTIONS:
            emit.status(motion)
            totals.append(_measure(emit, compute, motion, *MOTIONS[motion]))
    newton, linear, steps, error = (np.array(column) for column in zip(*totals, strict=True))
    emit("stiff_strip.pcg_per_newton", linear.sum() / newton.sum(), "-")
    emit("stiff_strip.newton_per_step", newton.sum() / steps.sum(), "-")
    emit("stiff_strip.velocity_error", error.max(), "m/s")
    with one_core():
        for motion in EXTRA:
            emit.status(motion)
            _measure(emit, compute, motion, *EXTRA[motion])


def _measure(emit: Emit, compute: str, motion: str, build, drive) -> tuple[int, int, int, float]:
    # one model each: an engine writes drive targets and scratch into its model's energies
    engine, tight, jacobi = (Engine(build(compute), Options(dt=DT, **o)) for o in (SETTINGS, TIGHT, JACOBI))
    control = engine.control()
    start = control.body_transform[0, 0].copy() if drive is not None else None
    newton, linear, most, errors, own, seconds, moving = 0, 0, 0, [], [], [], []
    jacobi_probes, jacobi_newton, jacobi_linear, unconverged = 0, 0, 0, 0
    stages: dict[str, float] = {}
    for step in range(STEPS):
        if drive is not None:
            control = engine.control()
            control.body_transform[0, 0] = start
            drive(control.body_transform[0, 0], (step + 1) * DT)
        before = engine.get_state()
        report = engine.step(control)
        newton, linear = newton + report.newton_iterations, linear + report.linear_iterations
        most, unconverged = max(most, report.newton_iterations), unconverged + (not report.converged)
        add_stages(stages, report)
        seconds.append(sum(report.stage_seconds.values()))
        if step % PROBE_EVERY == 0:
            tight.set_state(before)
            own.append(tight.step(control).converged)
            errors.append(largest_difference(engine.state.v.numpy(), tight.state.v.numpy()))
        fastest = max(np.abs(before["v"]).max(), np.abs(engine.state.v.numpy()).max())
        if fastest > MOVING:
            moving.append(report.newton_iterations)
        if report.newton_iterations > 2 and jacobi_probes < JACOBI_PROBES:
            jacobi_probes += 1
            jacobi.set_state(before)
            reference = jacobi.step(control)
            jacobi_newton += reference.newton_iterations
            jacobi_linear += reference.linear_iterations
    name = f"stiff_strip.{motion}"
    emit(f"{name}.pcg_per_newton", linear / newton)
    if jacobi_newton:
        emit(f"{name}.block_jacobi_pcg_per_newton", jacobi_linear / jacobi_newton)
    emit(f"{name}.newton_per_step", newton / STEPS)
    if moving:
        emit(f"{name}.newton_per_moving_step", np.mean(moving))
        emit(f"{name}.moving_steps", len(moving), "steps")
    emit(f"{name}.newton_most", most)
    emit(f"{name}.not_converged", unconverged, "steps")
    emit(f"{name}.velocity_error", max(errors), "m/s")
    emit(f"{name}.velocity_error_median", np.median(errors), "m/s")
    emit(f"{name}.tight_not_converged", own.count(False), "probes")
    emit(f"{name}.ms_per_step", 1e3 * np.median(seconds), "ms")
    emit_shares(emit, name, stages)
    return newton, linear, STEPS, max(errors)


# The three motions: a model, and what is asked of its driven body at a time [s]. -----------------------------------


def _strip(height: float, wave: float = 0.0) -> tuple[ModelBuilder, np.ndarray]:
    builder = ModelBuilder()
    vertices, triangles = shapes.grid_mesh((ROWS - 1) * CELL, WIDTH, ROWS - 1, ACROSS)
    placed = vertices + (0.0, 0.0, height)
    placed[:, 2] += wave * np.sin(9.0 * (vertices[:, 0] / np.ptp(vertices[:, 0]) + 0.5))
    builder.add_shell("strip", placed, triangles, STRIP, CONTACT, rest_vertices=vertices)
    floor = np.array([[-1.0, -1.0, 0.0], [1.03, -1.0, 0.0], [1.0, 1.04, 0.0], [-1.0, 1.0, 0.0]])
    builder.add_static("floor", floor, np.array([[0, 1, 2], [0, 2, 3]]), CONTACT)
    return builder, placed


def falling(compute: str):
    """From 100 mm with a wave of 20 mm, so that it lands here and there first."""
    return _strip(0.1, 2e-2)[0].finalize(device=compute)


def pulled(compute: str):
    """It lies on the floor; its last row rides on a driven clamp that goes up and back."""
    builder, placed = _strip(2e-4)
    last = np.flatnonzero(placed[:, 0] > placed[:, 0].max() - 0.1 * CELL)
    _add_box(builder, "clamp", (0.008, 0.04, 0.01), (placed[:, 0].max() + 0.012, 0.0, 0.02))
    builder.attach("strip", last, "clamp")
    builder.ignore_contact("strip", "clamp")
    return builder.finalize(device=compute)


def pull(pose: np.ndarray, time: float) -> None:
    pose[:3, 3] += (-0.1 * time, 0.0, 0.2 * time)


def pressed(compute: str):
    """It lies on the floor; a finger with a force limit of 10 N presses it."""
    builder, _ = _strip(2e-4)
    _add_box(builder, "finger", (0.03, 0.02, 0.02), (0.1, 0.003, 0.013), force_limit=10.0)
    return builder.finalize(device=compute)


def press(pose: np.ndarray, time: float) -> None:
    """Down, up, down, up in a second; the floor stops it 3 mm below its start."""
    pose[2, 3] -= 0.005 * (1.0 - np.cos(4.0 * np.pi * time))


def drag(pose: np.ndarray, time: float) -> None:
    """Presses for a quarter of a second, then slides along on the strip."""
    press(pose, min(time, 0.25))
    pose[0, 3] += 0.05 * max(time - 0.25, 0.0)


def _add_box(builder: ModelBuilder, name: str, size, centre, **options) -> None:
    vertices, triangles = shapes.box_surface(size)
    transform = np.eye(4)
    transform[:3, 3] = centre
    options = {"density": 2000.0, "driven": True, "gravity": False, **options}
    builder.add_body(name, vertices, triangles, CONTACT, transform=transform, **options)


MOTIONS = {"falling": (falling, None), "pulled": (pulled, pull), "pressed": (pressed, press)}
EXTRA = {"dragged": (pressed, drag)}  # printed, not averaged: sliding friction under a strip converges slowly
