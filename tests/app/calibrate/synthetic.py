"""A sensor whose colours are known: three coloured lights on a white coat, and presses of it written as files."""

from __future__ import annotations

import numpy as np
from PIL import Image

from app.calibrate.ball_press import PressSetup, PressShapes

WIDTH, HEIGHT, PITCH = 120, 90, 1e-4
LIGHTS = np.array([[0.8, 0.0, 0.6], [-0.4, 0.7, 0.6], [-0.4, -0.7, 0.6]])  # of red, green and blue
BRIGHTNESS = np.array([150.0, 130.0, 140.0])


def hertz_shapes(ball: float = 2e-3) -> PressShapes:
    """Shapes of a half space under a ball, by Hertz (K. L. Johnson, Contact Mechanics, 1985, section 4.2).

    Contact radius a at depth a^2/R; with q = r/a, w = a^2 (2 - q^2)/(2R) inside and
    (a^2/(pi R)) ((2 - q^2) asin(1/q) + sqrt(q^2 - 1)) outside."""
    radii = np.linspace(0.0, 1.5e-3, 31)
    rings = []
    for a in radii:
        q = np.concatenate([np.linspace(0.0, 1.0, 60), np.linspace(1.0, 6.0, 150)[1:]])
        r = q * max(a, 1e-5)
        out = np.maximum(q, 1.0)
        far = a**2 / (np.pi * ball) * ((2.0 - out**2) * np.arcsin(1.0 / out) + np.sqrt(out**2 - 1.0))
        rings.append(np.column_stack([r, -np.where(q < 1.0, (2.0 * a**2 - r**2) / (2.0 * ball), far)]))
    return PressShapes(PressSetup(ball_radius=ball), radii**2 / ball, np.array(rings), radii)


def shade(normal: np.ndarray) -> np.ndarray:
    """Lambert: colours 0..255 (n, 3) of unit normals (n, 3)."""
    return BRIGHTNESS * np.maximum(normal @ LIGHTS.T, 0.0)


def picture(shapes: PressShapes, x: float, y: float, radius: float, rng, noise: float = 1.0) -> np.ndarray:
    """(HEIGHT, WIDTH, 3) uint8 of a press at column x, row y, of a contact radius [pixel]; radius 0: the background."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    normal = np.broadcast_to((0.0, 0.0, 1.0), (WIDTH * HEIGHT, 3))
    if radius > 0.0:
        normal = shapes.normal(radius * PITCH, (columns.ravel() - x) * PITCH, (rows.ravel() - y) * PITCH)
    dim = 1.0 - 0.2 * columns / WIDTH  # the light falls off to the right
    value = shade(normal).reshape(HEIGHT, WIDTH, 3) * dim[:, :, None] + noise * rng.standard_normal((HEIGHT, WIDTH, 3))
    return np.rint(np.clip(value, 0.0, 255.0)).astype(np.uint8)


def write_presses(folder, shapes: PressShapes, count: int, seed: int = 0, error: float = 0.0) -> None:
    """A folder as the command wants it; error [pixel]: by which the table's circles are off."""
    rng = np.random.default_rng(seed)
    Image.fromarray(picture(shapes, 0, 0, 0.0, rng)).save(folder / "background.png")
    lines = ["image,center_x_px,center_y_px,contact_radius_px"]
    for k in range(count):
        x, y, radius = rng.uniform(30, WIDTH - 30), rng.uniform(30, HEIGHT - 30), rng.uniform(8.0, 13.0)
        Image.fromarray(picture(shapes, x, y, radius, rng)).save(folder / f"press_{k:02d}.png")
        told = np.array([x, y, radius]) + error * rng.uniform(-1.0, 1.0, 3)
        lines.append(f"press_{k:02d}.png,{told[0]:.2f},{told[1]:.2f},{told[2]:.2f}")
    (folder / "presses.csv").write_text("\n".join(lines), encoding="utf-8")
