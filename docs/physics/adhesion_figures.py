"""Draws docs/pictures/{cohesion_front,cohesion_rcc,bonds}.svg: traction against opening, from the engine's own laws.

    python docs/physics/adhesion_figures.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import warp as wp

from engine.adhesion import front_law, rcc_law
from engine.materials import BondAdhesive, FrontAdhesive, RccAdhesive

wp.set_module_options({"enable_backward": False})

PICTURES = Path(__file__).resolve().parents[1] / "pictures"
COLOURS = ("#1b6ca8", "#d1495b", "#3c8d53", "#8a5a9e")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 620, 300, 64, 16, 18, 46


@wp.kernel
def front_kernel(
    u: wp.array(dtype=wp.float64),
    reached: wp.array(dtype=wp.float64),
    active: int,
    cell: wp.float64,
    work: wp.float64,
    out: wp.array(dtype=wp.float64),
):
    i = wp.tid()
    a = front_law.front_corners(active, cell)
    peak = front_law.front_peak(work, a)
    out[i] = front_law.front_over_u(u[i], reached[i], peak, a) * u[i]


@wp.kernel
def rcc_kernel(
    u: wp.array(dtype=wp.float64),
    stiffness: wp.float64,
    work: wp.float64,
    viscosity: wp.float64,
    dt: wp.float64,
    out: wp.array(dtype=wp.float64),
):
    """One thread: beta follows the opening."""
    beta = wp.float64(1.0)
    for k in range(u.shape[0]):
        out[k] = beta * beta * stiffness * u[k]
        beta = rcc_law.rcc_weakened(beta, stiffness * u[k] * u[k], work, viscosity, dt)


def front(u: np.ndarray, active: int, cell: float, work: float, reached=None) -> np.ndarray:
    out = wp.zeros(len(u), dtype=wp.float64, device="cpu")
    reached = np.zeros(len(u)) if reached is None else reached
    wp.launch(front_kernel, len(u), [wp.array(u, dtype=wp.float64, device="cpu"),
                                     wp.array(reached, dtype=wp.float64, device="cpu"), active, cell, work],
              [out], device="cpu")  # fmt: skip
    return out.numpy()


def rcc(u: np.ndarray, material: RccAdhesive, speed: float) -> np.ndarray:
    out = wp.zeros(len(u), dtype=wp.float64, device="cpu")
    dt = (u[1] - u[0]) / speed
    wp.launch(rcc_kernel, 1, [wp.array(u, dtype=wp.float64, device="cpu"), material.stiffness_normal, material.work,
                              material.viscosity, dt], [out], device="cpu")  # fmt: skip
    return out.numpy()


def round_axis(largest: float) -> tuple[float, int]:
    """End of an axis and its number of steps, in steps of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(largest))
    step = next(s * power for s in (0.1, 0.2, 0.5, 1.0, 2.0) if largest <= 8 * s * power)
    count = int(np.ceil(largest / step - 1e-9))
    return count * step, count


def draw(name: str, x_label: str, y_label: str, curves: list[tuple[str, np.ndarray, np.ndarray]]) -> None:
    """Lines (label, x, y) on one pair of axes from zero, as SVG."""
    x_max, x_steps = round_axis(max(x.max() for _, x, _ in curves))
    y_max, y_steps = round_axis(1.05 * max(y.max() for _, _, y in curves))

    def place(x, y):
        return LEFT + x / x_max * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y / y_max * (HEIGHT - TOP - BOTTOM)

    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" '
             f'font-size="12"><rect width="100%" height="100%" fill="white"/>']  # fmt: skip
    for value in np.linspace(0.0, x_max, x_steps + 1):
        x, _ = place(value, 0.0)
        lines.append(f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>')
        lines.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{value:.3g}</text>')
    for value in np.linspace(0.0, y_max, y_steps + 1):
        _, y = place(0.0, value)
        lines.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}</text>')
    for k, (label, x, y) in enumerate(curves):
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(*place(x, y), strict=True))
        colour = COLOURS[k % len(COLOURS)]
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        y_text = TOP + 14 + 16 * k
        lines.append(f'<path d="M{WIDTH - RIGHT - 30} {y_text - 4}h24" stroke="{colour}" stroke-width="2"/>')
        lines.append(f'<text x="{WIDTH - RIGHT - 36}" y="{y_text}" text-anchor="end">{label}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    lines.append(f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">{x_label}</text>')
    lines.append(f'<text transform="translate(14,{HEIGHT / 2}) rotate(-90)" text-anchor="middle">{y_label}</text>')
    lines.append("</svg>")
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / f"{name}.svg").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    cell, work = 3.2e-3, FrontAdhesive().work
    u = np.linspace(0.0, 4.2 * cell, 800)
    back = np.linspace(0.0, 2.8 * cell, 50)
    draw("cohesion_front", "opening [mm]", "traction [kPa]", [
        (f"at the front, {cell * 1e3:g} mm cells", u * 1e3, front(u, 1, cell, work) / 1e3),
        ("behind it", u * 1e3, front(u, 0, cell, work) / 1e3),
        ("unloading from 2.8 cells", back * 1e3, front(back, 1, cell, work, np.full(50, 2.8 * cell)) / 1e3),
        ("at the front, 1.6 mm cells", u[u < 6.8e-3] * 1e3, front(u[u < 6.8e-3], 1, 1.6e-3, work) / 1e3),
    ])  # fmt: skip
    u = np.linspace(0.0, 2e-3, 4000)
    viscous = RccAdhesive(viscosity=20.0)
    draw("cohesion_rcc", "opening [mm]", "traction [MPa]", [
        (f"b = 20 N s/m3, {speed * 1e3:g} mm/s", u[::20] * 1e3, rcc(u, viscous, speed)[::20] / 1e6)
        for speed in (1e-4, 1e-3, 3e-3)
    ])  # fmt: skip
    bond = BondAdhesive()
    spring = bond.stiffness * cell
    u = np.array([0.0, bond.break_force / spring, bond.break_force / spring, 2 * bond.break_force / spring])
    draw("bonds", "opening [mm]", "force of one bond [N]", [
        (f"kappa_b = {bond.stiffness:g} Pa, {cell * 1e3:g} mm cells", u * 1e3, np.array([0, bond.break_force, 0, 0]))
    ])  # fmt: skip


if __name__ == "__main__":
    main()
