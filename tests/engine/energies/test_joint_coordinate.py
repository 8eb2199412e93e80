"""Joint coordinates: sign, drive with force limit, damping, limits, wrap, derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from engine.energies.joint_coordinate import AngleCoordinate, SlideCoordinate
from tests.engine.energies import exact
from tests.engine.energies.harness import (
    Probe,
    difference_gradient,
    difference_hessian,
    lowest_eigenvalue,
    random_rotations,
    relative_error,
    stencils_for,
)

DEFAULTS = dict(
    offset=0.0,
    stiffness=0.0,
    damping=0.0,
    target=0.0,
    force_limit=np.inf,
    lower=-np.inf,
    upper=np.inf,
    limit_stiffness=0.0,
    yields=0.0,
)


def coordinate(kind, count, device="cpu", **law):
    size = kind.stencil_size
    return kind(stencils_for(count, size), **{**DEFAULTS, **law}, element_world=np.arange(count), device=device)


def slid(q):
    """[c, p0, p1]: a child's point at q along x of a frame at (1, 2, 3), 5 mm off the axis."""
    p0 = np.array([1.0, 2.0, 3.0])
    return np.stack([p0 + [q, 0.005, 0.0], p0, p0 + [1.0, 0.0, 0.0]])


def turned(q):
    """[p0, p1, p2, c1]: a child turned by q about z of a frame at (1, 2, 3)."""
    p0 = np.array([1.0, 2.0, 3.0])
    return np.stack([p0, p0 + [1.0, 0.0, 0.0], p0 + [0.0, 1.0, 0.0], p0 + [np.cos(q), np.sin(q), 0.0]])


CASES = [(SlideCoordinate, slid), (AngleCoordinate, turned)]


@pytest.mark.parametrize("kind, place", CASES)
def test_sign_of_the_coordinate(kind, place):
    """Moving along the axis, turning counter-clockwise about it, is positive; offset is where q is zero."""
    energy = coordinate(kind, 2, offset=0.1)
    x = np.stack([place(0.3), place(-0.2)])
    assert energy.coordinate_host(x.reshape(-1, 3)) == pytest.approx([0.2, -0.3])


@pytest.mark.parametrize("kind, place", CASES)
def test_spring_pulls_to_its_target_within_the_limit(device, kind, place):
    law = dict(stiffness=100.0, target=[0.5, 0.5, -0.1], force_limit=[np.inf, 5.0, 5.0])
    energy = coordinate(kind, 3, device, offset=0.3, **law)
    x = np.stack([place(0.5)] * 3)  # q = 0.2
    probe = Probe(energy, x)
    assert probe.value(x) == pytest.approx([0.5 * 100 * 0.09, 5 * 0.3 - 25 / 200, 5 * 0.3 - 25 / 200])
    assert energy.force_host(x.reshape(-1, 3)) == pytest.approx([30.0, 5.0, -5.0])
    # the gradient on the child's point is minus the pull along the motion
    along = [1.0, 0.0, 0.0] if kind is SlideCoordinate else [-np.sin(0.5), np.cos(0.5), 0.0]
    child = 0 if kind is SlideCoordinate else 3
    assert probe.gradient(x)[:, child] @ along == pytest.approx([-30.0, -5.0, 5.0])
    energy.target.assign(np.array([0.2, 0.2, 0.2]))
    assert probe.value(x) == pytest.approx([0.0, 0.0, 0.0], abs=1e-20)


@pytest.mark.parametrize("kind, place", CASES)
def test_limits_act_beyond_them_only(device, kind, place):
    energy = coordinate(kind, 3, device, lower=-0.1, upper=0.2, limit_stiffness=1000.0)
    x = np.stack([place(0.05), place(0.25), place(-0.2)])
    probe = Probe(energy, x)
    assert probe.value(x) == pytest.approx([0.0, 500 * 0.05**2, 500 * 0.1**2])
    push = np.einsum("eki,eki->e", probe.gradient(x), probe.gradient(x))
    assert push[0] == 0.0 and push[1] > 0.0
    further = probe.value(np.stack([place(0.05), place(0.26), place(-0.21)]))
    assert further[1] > 500 * 0.05**2 and further[2] > 500 * 0.1**2


@pytest.mark.parametrize("kind, place", CASES)
def test_damping_opposes_the_motion_of_the_step(device, kind, place):
    energy = coordinate(kind, 1, device, damping=2.0, offset=0.7)
    start, x = place(0.1)[None], place(0.13)[None]
    probe = Probe(energy, start, step_size=0.01)
    assert probe.value(x) == pytest.approx([2.0 / 0.02 * 0.03**2])
    along = [1.0, 0.0, 0.0] if kind is SlideCoordinate else [-np.sin(0.13), np.cos(0.13), 0.0]
    child = 0 if kind is SlideCoordinate else 3
    assert probe.gradient(x)[0, child] @ along == pytest.approx(2.0 * 3.0)  # 3 units a second


def test_angles_go_the_short_way_round(device):
    """Target 3.1, at -3.1: 0.083 rad further up, not 6.2 back; the same for the motion of a step and the offset."""
    gap = 2.0 * np.pi - 6.2
    energy = coordinate(AngleCoordinate, 2, device, stiffness=100.0, target=[3.1, 0.2], offset=[0.0, 3.0])
    x = np.stack([turned(-3.1), turned(3.2)])
    assert energy.coordinate_host(x.reshape(-1, 3)) == pytest.approx([-3.1, 0.2])
    probe = Probe(energy, x)
    assert probe.value(x) == pytest.approx([50.0 * gap**2, 0.0], abs=1e-12)
    assert energy.force_host(x.reshape(-1, 3)) == pytest.approx([-100.0 * gap, 0.0], abs=1e-9)
    damped = Probe(coordinate(AngleCoordinate, 1, device, damping=2.0), turned(3.1)[None], step_size=0.01)
    assert damped.value(turned(-3.1)[None]) == pytest.approx([100.0 * gap**2])


def joint_law_slope(q, error, moved, h, law):
    """dE/dq, complex-safe."""
    slope = law["stiffness"] * error + law["damping"] / h * moved
    if abs(law["stiffness"] * error) > law["force_limit"]:
        slope = law["force_limit"] * np.sign(error.real) + law["damping"] / h * moved
    if q.real < law["lower"]:
        slope = slope + law["limit_stiffness"] * (q - law["lower"])
    if q.real > law["upper"]:
        slope = slope + law["limit_stiffness"] * (q - law["upper"])
    return slope


def slide_gradient(x, start, h, law):
    d, u = x[0] - x[1], x[2] - x[1]
    q = d @ u - law["offset"]
    moved = d @ u - (start[0] - start[1]) @ (start[2] - start[1])
    return joint_law_slope(q, q - law["target"], moved, h, law) * np.stack([u, -u - d, d])


def angle_gradient(x, start, h, law):
    def parts(y):
        v, u1, u2 = y[3] - y[0], y[1] - y[0], y[2] - y[0]
        return v, u1, u2, v @ u2, v @ u1

    v, u1, u2, s, c = parts(x)
    square = s * s + c * c
    angle = exact._atan2(s, c)
    start_angle = np.arctan2(*parts(start)[3:])
    q = angle - law["offset"]
    g1, g2, g3 = -s / square * v, c / square * v, (c * u2 - s * u1) / square
    return joint_law_slope(q, q - law["target"], angle - start_angle, h, law) * np.stack([-g1 - g2 - g3, g1, g2, g3])


def sweep(kind, rng, scale):
    """Places, starts and laws over scales of length (of stiffness for angles), away from the kinks of the law."""
    count = len(scale)
    turn = random_rotations(rng, count)
    if kind is SlideCoordinate:
        q = scale * rng.uniform(0.5, 1.0, count)
        x = np.stack([slid(a) - [1.0, 2.0, 3.0] for a in q])
        x[:, 0, 1:] = 0.3 * scale[:, None] * rng.standard_normal((count, 2))
        stretch = 1.0
    else:
        q = rng.uniform(-2.0, 2.0, count)
        x = np.stack([turned(a) - [1.0, 2.0, 3.0] for a in q]) * scale[:, None, None]
        stretch = 1.0 / scale
    x = x @ turn.transpose(0, 2, 1)
    start = x + 0.02 * scale[:, None, None] * rng.standard_normal(x.shape)
    unit = scale * stretch  # size of q
    offset = 0.3 * unit * rng.standard_normal(count)
    q = q - offset
    stiffness = 10.0 ** rng.uniform(1, 4, count)
    law = dict(
        offset=offset,
        stiffness=stiffness,
        damping=stiffness * 0.01,
        target=q - unit * rng.choice([-0.3, 0.3], count),
        force_limit=np.where(np.arange(count) % 2, np.inf, 0.1 * stiffness * unit),
        lower=np.where(np.arange(count) % 3, -np.inf, q + 0.2 * unit),
        upper=np.full(count, np.inf),
        limit_stiffness=2.0 * stiffness,
    )
    law["upper"][1::3] = q[1::3] - 0.2 * unit[1::3]
    return x, start, law


@pytest.mark.parametrize("kind, gradient_of", [(SlideCoordinate, slide_gradient), (AngleCoordinate, angle_gradient)])
def test_derivatives_over_scales(device, kind, gradient_of):
    """Kinks skipped by construction: spring at its limit, coordinate at a stop, error at +-pi."""
    rng = np.random.default_rng(1)
    scale = np.repeat(10.0 ** np.arange(-5.0, 2.0), 12)
    x, start, law = sweep(kind, rng, scale)
    h = 0.01
    probe = Probe(coordinate(kind, len(scale), device, **law), start, h)

    def gradient(e, y):
        return gradient_of(y, start[e], h, {name: values[e] for name, values in law.items()})

    analytic = probe.gradient(x)
    reference = exact.exact_hessians(gradient, x)
    assert np.all(np.linalg.norm(analytic, axis=(1, 2)) > 0.0)
    assert relative_error(analytic, np.stack([gradient(e, x[e]).real for e in range(len(x))])).max() < 1e-9
    step = 1e-4
    if kind is SlideCoordinate:  # the stencil's size is the unit axis, not q: keep the step small against q
        for chosen in np.unique(scale):
            pick = scale == chosen
            small = step * min(chosen, 1.0)
            assert relative_error(difference_gradient(probe, x, small)[pick], analytic[pick]).max() < 1e-6
            assert relative_error(difference_hessian(probe, x, small)[pick], reference[pick]).max() < 1e-6
    else:
        assert relative_error(difference_gradient(probe, x, step), analytic).max() < 1e-6
        assert relative_error(difference_hessian(probe, x, step), reference).max() < 1e-6
    assert lowest_eigenvalue(probe.hessian(x)).min() > -1e-12


@pytest.mark.parametrize("kind, gradient_of", [(SlideCoordinate, slide_gradient), (AngleCoordinate, angle_gradient)])
def test_gauss_newton_deviation(kind, gradient_of):
    """Exact on target; off in proportion to the error times the curvature of q."""
    place = dict(CASES)[kind]
    for error in (0.0, 1e-3, 1e-2, 1e-1):
        x = np.stack([place(q) for q in np.linspace(-0.5, 0.5, 11)])
        law = {name: np.full(11, value) for name, value in DEFAULTS.items()}
        law.update(stiffness=np.full(11, 100.0), target=np.linspace(-0.5, 0.5, 11) - error)
        hessian = Probe(coordinate(kind, 11, **law), x).hessian(x)
        reference = exact.exact_hessians(
            lambda e, y, law=law, x=x: gradient_of(y, x[e], 0.01, {name: values[e] for name, values in law.items()}), x
        )
        deviation = relative_error(hessian, reference).max()
        print(f"{kind.name}, {error} from its target: deviation from the exact Hessian, worst {deviation:.1e}")
        assert deviation < 5.0 * error + 1e-12


def test_child_on_the_axis_stays_finite():
    x = turned(0.3)
    x[3] = x[0]
    probe = Probe(coordinate(AngleCoordinate, 1, stiffness=10.0, target=1.0), x[None])
    assert np.isfinite(probe.value(x[None])).all()
    assert np.all(probe.gradient(x[None]) == 0.0)


def test_errors_name_the_argument():
    with pytest.raises(ValueError, match="AngleCoordinate: lower of element 1 is 0.5, above upper 0.2"):
        coordinate(AngleCoordinate, 2, lower=[0.0, 0.5], upper=0.2)
    with pytest.raises(ValueError, match="SlideCoordinate: stiffness of element 0 is -2.0; it must be at least 0"):
        coordinate(SlideCoordinate, 1, stiffness=-2.0)
