"""Pictures of the window as one animated strip, small enough for a page of text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

WIDTH = 860  # [pixel]
COLOURS = 128
VIVID = 50  # difference of the channels from which a colour is one
PAUSE, LAST = 1400, 3000  # [ms] that a picture stays


def draw_strip(pictures: Sequence[Path], path: Path) -> None:
    """An animated GIF of pictures of one size; all share one palette, so nothing flickers."""
    shown = [Image.open(picture).convert("RGB") for picture in pictures]
    shown = [image.resize((WIDTH, round(image.height * WIDTH / image.width)), Image.LANCZOS) for image in shown]
    whole = Image.new("RGB", (WIDTH, sum(image.height for image in shown)))
    for number, image in enumerate(shown):
        whole.paste(image, (0, number * shown[0].height))
    palette = _with_vivid(whole).quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    frames = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in shown]
    times = [PAUSE] * (len(frames) - 1) + [LAST]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=True)


def _with_vivid(image: Image.Image) -> Image.Image:
    """The image with its vivid pixels many times beneath: else grey and cardboard take the whole palette, and the green
    of a stage that is done turns blue."""
    pixels = np.asarray(image)
    vivid = pixels[np.ptp(pixels.astype(int), axis=2) > VIVID]
    if not len(vivid):
        return image
    rows = np.resize(vivid, (pixels.shape[0], pixels.shape[1], 3))
    return Image.fromarray(np.concatenate([pixels, rows]))
