"""Studio materials: matcaps computed here, so that nothing is shipped and nothing downloaded.

A matcap maps the view-space normal to a shade. Polyscope blends four pictures: the share that takes the base colour's
red, green and blue, and the share that stays white (highlights).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

SIZE = 256

# name: (ambient, wrap of the key light, fill, highlight strength, highlight sharpness, rim)
RECIPES = {
    "tacktile_matte": (0.42, 0.35, 0.22, 0.02, 6.0, 0.06),
    "tacktile_satin": (0.40, 0.25, 0.22, 0.16, 18.0, 0.08),
    "tacktile_gloss": (0.36, 0.20, 0.22, 0.40, 60.0, 0.12),
    "tacktile_metal": (0.30, 0.10, 0.30, 0.34, 26.0, 0.16),
}


def shade(normal: np.ndarray, recipe: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Diffuse share and highlight of view-space normals (h, w, 3), each (h, w) in [0, 1]."""
    ambient, wrap, fill, strength, sharpness, rim = recipe
    key = np.array([-0.45, 0.70, 0.55])
    key /= np.linalg.norm(key)
    side = np.array([0.8, 0.15, 0.45])
    side /= np.linalg.norm(side)
    half = key + np.array([0.0, 0.0, 1.0])
    half /= np.linalg.norm(half)
    lambert = np.clip((normal @ key + wrap) / (1.0 + wrap), 0.0, 1.0)
    sky = 0.5 + 0.5 * normal[..., 1]
    diffuse = (
        ambient * (0.75 + 0.25 * sky) + (1.0 - ambient) * 0.92 * lambert + fill * np.clip(normal @ side, 0.0, 1.0) * 0.5
    )
    highlight = strength * np.clip(normal @ half, 0.0, 1.0) ** sharpness
    highlight += rim * (1.0 - np.clip(normal[..., 2], 0.0, 1.0)) ** 3 * sky
    return np.clip(diffuse, 0.0, 1.0), np.clip(highlight, 0.0, 1.0)


def load_materials(ps) -> None:
    """Computes the pictures into a temporary folder and registers them with Polyscope (about 50 ms, once)."""
    from PIL import Image

    v, u = np.mgrid[0:SIZE, 0:SIZE]
    x, y = 2.0 * (u + 0.5) / SIZE - 1.0, 1.0 - 2.0 * (v + 0.5) / SIZE
    z = np.sqrt(np.clip(1.0 - x * x - y * y, 0.0, 1.0))
    radius = np.maximum(np.sqrt(x * x + y * y + z * z), 1e-9)
    normal = np.stack([x, y, z], axis=-1) / radius[..., None]
    with tempfile.TemporaryDirectory(prefix="tacktile_materials_") as folder:
        for name, recipe in RECIPES.items():
            diffuse, highlight = shade(normal, recipe)
            names = []
            for channel in range(4):
                picture = np.repeat(highlight[..., None], 3, axis=-1)
                if channel < 3:
                    picture[..., channel] = np.clip(diffuse + highlight, 0.0, 1.0)
                path = Path(folder) / f"{name}_{'rgbk'[channel]}.png"
                Image.fromarray((255 * picture).round().astype(np.uint8)).save(path)
                names.append(str(path))
            ps.load_blendable_material(name, filenames=names)
