"""The report of a calibration: one HTML file with its pictures inside."""

from __future__ import annotations

import base64
import html
import io
from pathlib import Path

import numpy as np
from PIL import Image

from app.calibrate.evaluation import Rendered
from app.calibrate.scores import crop, mean_score

SHOWN = 1.9  # contact radii on each side of a press that are shown
GAIN = 6  # of the errors shown
STYLE = """body{font:15px/1.5 sans-serif;margin:2em auto;max-width:1100px;color:#222}table{border-collapse:collapse}
td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}th{font-weight:600}td:first-child,
th:first-child{text-align:left}img{max-width:100%;image-rendering:auto}"""


def strip(rendered: Rendered, names: tuple[str, ...] = ("network",), size: int = 220) -> np.ndarray:
    """Side by side around a press, (size, n size, 3) uint8: the real picture, the named ones, the error of the first of
    these, GAIN times, about grey."""
    window = crop(rendered.press, rendered.press.image.shape, SHOWN)
    real = rendered.press.image[window]
    shown = [real, *(rendered.images[n][window] for n in names)]
    error = 128.0 + GAIN * (rendered.images[names[0]][window].astype(float) - real)
    shown.append(np.clip(error, 0, 255).astype(np.uint8))
    return np.hstack([np.asarray(Image.fromarray(a).resize((size, size), Image.Resampling.LANCZOS)) for a in shown])


def write_report(path: Path, title: str, facts: dict[str, str], rendered: list[Rendered]) -> None:
    """Write the page. facts: lines above the table of scores."""
    names = [n for n in rendered[0].images if n != "background"]
    others = tuple(n for n in names if n != "network")
    rows = "".join(_row(r.press.name, [r.scores[n] for n in (*names, "background")]) for r in rendered)
    means = [mean_score([r.scores[n] for r in rendered]) for n in (*names, "background")]
    heads = "".join(f"<th>{html.escape(n)}: error</th><th>SSIM</th>" for n in (*names, "background"))
    strips = ((html.escape(r.press.name), _png(strip(r, ("network", *others)))) for r in rendered)
    pictures = "".join(f"<h3>{name}</h3><img src='{picture}' alt=''>" for name, picture in strips)
    columns = ", ".join(("real", "network", *others, f"network's error, {GAIN} times, about grey"))
    page = f"""<!doctype html><meta charset="utf-8"><title>{html.escape(title)}</title><style>{STYLE}</style>
<h1>{html.escape(title)}</h1>
<table>{"".join(f"<tr><td>{html.escape(k)}</td><td>{html.escape(v)}</td></tr>" for k, v in facts.items())}</table>
<h2>Presses held out of the training</h2>
<p>Error: mean absolute error within the contact radius, grey levels of 255. SSIM: in the square of 1.6 contact radii
around the press. Background: the untouched coat in place of an image.</p>
<table><tr><th>press</th>{heads}</tr>{rows}{_row("mean", means)}</table>
<p>From left to right: {html.escape(columns)}.</p>{pictures}"""
    path.write_text(page, encoding="utf-8")


def _row(name: str, scores) -> str:
    cells = "".join(f"<td>{s.mae:.2f}</td><td>{s.ssim:.3f}</td>" for s in scores)
    return f"<tr><td>{html.escape(name)}</td>{cells}</tr>"


def _png(image: np.ndarray) -> str:
    packed = io.BytesIO()
    Image.fromarray(image).save(packed, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(packed.getvalue()).decode("ascii")
