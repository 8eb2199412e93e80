"""One palette, safe for colour-blind people (Okabe and Ito 2008 for categories, viridis for fields). RGB in [0, 1]."""

from __future__ import annotations

# categories (Okabe-Ito), the same meaning everywhere in the application
BLUE = (0.000, 0.447, 0.698)
SKY = (0.337, 0.706, 0.914)
GREEN = (0.000, 0.620, 0.451)
YELLOW = (0.941, 0.894, 0.259)
ORANGE = (0.902, 0.624, 0.000)
VERMILION = (0.835, 0.369, 0.000)
PURPLE = (0.800, 0.475, 0.655)

TAPE = {"cluster": (0.55, 0.42, 0.28), "collar": ORANGE, "free": SKY, "bonded": GREEN, "front": VERMILION}

# states of the application
REC = (0.78, 0.10, 0.12)
SAVING = (0.80, 0.50, 0.00)
GOOD = (0.000, 0.480, 0.350)
WARN = (0.75, 0.45, 0.00)
BAD = (0.78, 0.16, 0.05)
IDLE = (0.45, 0.47, 0.50)

# surfaces of the window
BACKDROP = (0.705, 0.715, 0.725)  # before Polyscope's tone curve; shows as about 0.89
PANEL = (0.985, 0.986, 0.988)
PANEL_EDGE = (0.80, 0.81, 0.83)
FIELD = (0.925, 0.930, 0.938)
FIELD_HOVER = (0.880, 0.895, 0.915)
TEXT = (0.11, 0.13, 0.16)
TEXT_DIM = (0.40, 0.43, 0.47)
ACCENT = BLUE
GHOST = BLUE

# traces of a force plot: x, y, z of a pad or tool
TRACES = (VERMILION, GREEN, BLUE)
# stages of a step, in the order of first appearance
STAGES = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, YELLOW, (0.35, 0.37, 0.40))

# default looks by what a mesh is: (colour, material)
LOOKS = {
    "shell": ((0.80, 0.62, 0.36), "tacktile_satin"),
    "solid": ((0.63, 0.68, 0.73), "tacktile_satin"),
    "body": ((0.72, 0.56, 0.39), "tacktile_matte"),
    "static": ((0.86, 0.86, 0.85), "tacktile_matte"),
}

# viridis (matplotlib, CC0), 16 samples, for lookups outside Polyscope
VIRIDIS = (
    (0.267, 0.005, 0.329), (0.283, 0.100, 0.422), (0.277, 0.185, 0.490), (0.254, 0.265, 0.530),
    (0.222, 0.339, 0.549), (0.191, 0.407, 0.556), (0.164, 0.471, 0.558), (0.139, 0.534, 0.555),
    (0.121, 0.596, 0.544), (0.135, 0.659, 0.518), (0.208, 0.719, 0.473), (0.328, 0.774, 0.407),
    (0.478, 0.821, 0.318), (0.647, 0.858, 0.210), (0.825, 0.885, 0.106), (0.993, 0.906, 0.144),
)  # fmt: skip


def rgba(color: tuple[float, float, float], alpha: float = 1.0) -> tuple[float, float, float, float]:
    """The colour with an opacity, as ImGui wants it."""
    return (color[0], color[1], color[2], alpha)


def packed(color: tuple[float, float, float], alpha: float = 1.0) -> int:
    """32-bit ABGR as ImGui's draw lists want it."""
    r, g, b, a = (max(0, min(255, round(255 * c))) for c in (*color, alpha))
    return a << 24 | b << 16 | g << 8 | r
