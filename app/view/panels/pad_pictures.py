"""Drawing one pad: its pictures side by side, markers as arrows, and the trace of its force."""

from __future__ import annotations

import numpy as np
import polyscope.imgui as psim
import polyscope.implot as implot

from app.view import palette
from app.view.images import PadImages
from app.view.state import HISTORY, ViewState

FORCE_NAMES = ("x", "y", "z")


def kinds(pad: dict) -> list[str]:
    """Pictures that a pad has, in the order in which they stand."""
    return [kind for kind, there in (
        ("rgb", pad.get("rgb") is not None), ("depth", True), ("markers", pad.get("marker") is not None)
    ) if there]  # fmt: skip


def aspect(pad: dict) -> float:
    """Height over width."""
    rows, columns = np.shape(pad["depth"])[:2]
    return rows / columns


def picture(pad: dict, kind: str, images: PadImages, size: tuple[float, float], flow_limit: float, s: float) -> bool:
    """One picture as an ImGui item; True when it was clicked."""
    if kind == "markers":
        _markers(pad, size, flow_limit, s)
    else:
        images.show(pad["name"], kind, size)
    low, high = psim.GetItemRectMin(), psim.GetItemRectMax()
    if psim.IsItemHovered():
        canvas = psim.GetWindowDrawList()
        canvas.AddRect(tuple(low), tuple(high), palette.packed(palette.ACCENT), 0.0, 0, 1.5 * s)
    return psim.IsItemClicked(0)


def _markers(pad: dict, size: tuple[float, float], limit: float, s: float) -> None:
    """A dot where each marker was and an arrow to where it went; `limit` sensor pixels reach to the next dot."""
    x, y = psim.GetCursorScreenPos()
    psim.Dummy(size)
    canvas = psim.GetWindowDrawList()
    canvas.AddRectFilled((x, y), (x + size[0], y + size[1]), palette.packed(palette.FIELD))
    columns = np.shape(pad["depth"])[1]
    zoom = size[0] / columns  # screen pixels a sensor pixel
    rest = (np.asarray(pad["marker_rest"]) + 0.5) * zoom
    flow = np.asarray(pad["marker"]) - np.asarray(pad["marker_rest"])
    gain = _spacing(rest, pad["marker_shape"], size) / limit
    ends = rest + flow * gain
    inside = (rest >= 0.0).all(axis=1) & (rest <= np.array(size)).all(axis=1) & np.isfinite(ends).all(axis=1)
    dot, arrow = palette.packed(palette.TEXT_DIM), palette.packed(palette.ACCENT)
    canvas.PushClipRect((x, y), (x + size[0], y + size[1]), True)
    for start, end in zip(rest[inside] + (x, y), ends[inside] + (x, y), strict=True):
        canvas.AddCircleFilled(tuple(start), max(1.0, 1.3 * s), dot)
        way = end - start
        length = float(np.hypot(*way))
        if length > 1.5:
            canvas.AddLine(tuple(start), tuple(end), arrow, 1.4 * s)
            head = min(0.45 * length, 5.0 * s) * way / length
            side = 0.55 * np.array([-head[1], head[0]])
            canvas.AddTriangleFilled(tuple(end), tuple(end - head + side), tuple(end - head - side), arrow)
    canvas.PopClipRect()


def _spacing(rest: np.ndarray, shape: tuple[int, int], size: tuple[float, float]) -> float:
    """Screen pixels from marker to marker."""
    if min(shape) >= 2 and shape[0] * shape[1] == len(rest):
        grid = rest.reshape(*shape, 2)
        return float(np.median(np.linalg.norm(grid[:, 1:] - grid[:, :-1], axis=2)))
    return float(np.sqrt(size[0] * size[1] / max(len(rest), 1)))


def trace(name: str, values: np.ndarray, limit: float, height: float, s: float) -> None:
    """Forces (n, 3) over the last frames, with a scale that stays put."""
    flags = (
        implot.ImPlotFlags_NoLegend
        | implot.ImPlotFlags_NoMenus
        | implot.ImPlotFlags_NoMouseText
        | implot.ImPlotFlags_NoInputs
    )
    bare = implot.ImPlotAxisFlags_NoTickLabels | implot.ImPlotAxisFlags_NoTickMarks | implot.ImPlotAxisFlags_NoGridLines
    ticks = [-limit, 0.0, limit] if height < 120 * s else [-limit, -0.5 * limit, 0.0, 0.5 * limit, limit]
    if not implot.BeginPlot(f"##{name}", (-1.0, height), flags):
        return
    implot.SetupAxes("", "", bare, 0)
    implot.SetupAxesLimits(0.0, float(HISTORY), -1.08 * limit, 1.08 * limit, implot.ImPlotCond_Always)
    implot.SetupAxisTicks(implot.ImAxis_Y1, np.array(ticks), [f"{tick:g}" for tick in ticks])
    for axis in range(3):
        implot.SetNextLineStyle((*palette.TRACES[axis], 1.0), 1.4 * s)
        implot.PlotLine(FORCE_NAMES[axis], np.arange(len(values), dtype=float), np.ascontiguousarray(values[:, axis]))
    implot.EndPlot()


def largest_flow(pads: list) -> float:
    """[pixel] of any marker of any pad."""
    moved = [np.asarray(pad["marker"]) - pad["marker_rest"] for pad in pads if pad["marker"] is not None]
    return float(np.nanmax(np.linalg.norm(np.concatenate(moved), axis=1), initial=0.0)) if moved else 0.0


def scales(state: ViewState) -> tuple[float, float, float]:
    """Locked ends: depth [m], marker flow [pixel], force [N]."""
    own = state.settings.scales
    return own["depth"], own["flow"], own["trace"]
