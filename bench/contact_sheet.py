"""The contact sheet of pressed indenters: colour image and depth map side by side, with names and correlations."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from app.view.palette import VIRIDIS

COLUMNS = 5
GAP, LABEL, HEAD = 10, 20, 34  # [pixel]
INK, DIM, PAPER = (30, 33, 38), (95, 100, 108), (255, 255, 255)


def draw_sheet(groups: dict[str, list], deepest: float) -> Image.Image:
    """groups: title -> tiles (name, bench.pattern_press.Press); deepest: end of the colours [m]."""
    height, width = next(iter(groups.values()))[0][1].depth.shape
    tile = 2 * width + 2
    rows = {title: -(-len(tiles) // COLUMNS) for title, tiles in groups.items()}
    whole = (
        COLUMNS * (tile + GAP) + GAP,
        sum(HEAD + count * (height + LABEL + GAP) for count in rows.values()) + GAP,
    )
    sheet = Image.new("RGB", whole, PAPER)
    draw, y = ImageDraw.Draw(sheet), 0
    for k, (title, tiles) in enumerate(groups.items()):
        draw.text((GAP, y + 9), title, INK, ImageFont.load_default(18))
        if k == 0:
            _scale(draw, sheet, whole[0] - GAP, y + 10, deepest)
        y += HEAD
        for place, (name, press) in enumerate(tiles):
            x = GAP + place % COLUMNS * (tile + GAP)
            top = y + place // COLUMNS * (height + LABEL + GAP)
            note = f"{press.correlation:.3f}" + ", askew" * (press.tilt > 0.0)
            font = ImageFont.load_default(13)
            draw.text((x, top), name, INK, font)
            draw.text((x + tile, top), note, DIM, font, anchor="ra")
            sheet.paste(Image.fromarray(press.rgb), (x, top + LABEL))
            sheet.paste(Image.fromarray(depth_colours(press.depth / deepest)), (x + width + 2, top + LABEL))
        y += rows[title] * (height + LABEL + GAP)
    return sheet


def depth_colours(share: np.ndarray) -> np.ndarray:
    """uint8 (..., 3) of values, clipped to [0, 1], in the colours of the window's depth maps."""
    table = np.array(VIRIDIS)
    at = np.linspace(0.0, 1.0, len(table))
    return np.stack([255.0 * np.interp(share, at, table[:, k]) + 0.5 for k in range(3)], axis=-1).astype(np.uint8)


def _scale(draw: ImageDraw.ImageDraw, sheet: Image.Image, right: int, y: int, deepest: float) -> None:
    font, length = ImageFont.load_default(13), 160
    end = f"{1e3 * deepest:g} mm"
    right -= round(draw.textlength(end, font)) + 6
    draw.text((right + 6, y), end, DIM, font)
    sheet.paste(
        Image.fromarray(depth_colours(np.tile(np.linspace(0.0, 1.0, length), (14, 1)))), (right - length, y + 1)
    )
    draw.text((right - length - 6, y), "depth 0", DIM, font, anchor="ra")
