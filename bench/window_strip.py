"""Pictures of the window as one animated strip, small enough for a page of text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PIL import Image

WIDTH = 860  # [pixel]
COLOURS = 96
PAUSE, LAST = 1400, 3000  # [ms] that a picture stays


def draw_strip(pictures: Sequence[Path], path: Path) -> None:
    """An animated GIF of pictures of one size; all share one palette, so nothing flickers."""
    shown = [Image.open(picture).convert("RGB") for picture in pictures]
    shown = [image.resize((WIDTH, round(image.height * WIDTH / image.width)), Image.LANCZOS) for image in shown]
    whole = Image.new("RGB", (WIDTH, sum(image.height for image in shown)))
    for number, image in enumerate(shown):
        whole.paste(image, (0, number * shown[0].height))
    palette = whole.quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    frames = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in shown]
    times = [PAUSE] * (len(frames) - 1) + [LAST]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=True)
