"""Where every panel lies, computed from the window's size alone. Pure: no window, no drawing, tested by numbers.

Polyscope has no docking, so nothing is left to chance: two columns beside the 3D view, a status bar above, a timeline
below. A collapsed panel keeps its title; what it gives up goes to the others of its column.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

MIN_WIDTH, MIN_HEIGHT = 960, 540  # below this the columns hide by themselves

# column -> (panel, share of the spare height, smallest height at scale 1), top to bottom
COLUMNS = {
    "left": (("task", 1.0, 176.0), ("teleop", 0.6, 326.0), ("record", 0.1, 92.0)),
    "replay": (("replay", 1.0, 440.0),),  # the left one while an episode is played
    "right": (("tactile", 1.0, 330.0), ("tape", 1.0, 290.0), ("solver", 1.0, 262.0)),
}
PANELS = tuple(dict.fromkeys(name for column in COLUMNS.values() for name, _, _ in column if name != "replay"))


@dataclass(frozen=True)
class Rect:
    """A rectangle in window pixels, y down."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def center(self) -> tuple[float, float]:
        return (self.x + 0.5 * self.width, self.y + 0.5 * self.height)

    def overlaps(self, other: Rect) -> bool:
        """True when the two share more than half a pixel's edge."""
        slack = 0.5
        return (
            self.x < other.right - slack
            and other.x < self.right - slack
            and self.y < other.bottom - slack
            and other.y < self.bottom - slack
        )

    def contains(self, x: float, y: float) -> bool:
        return self.x <= x < self.right and self.y <= y < self.bottom


@dataclass(frozen=True)
class Layout:
    """Rectangles by name, the free 3D view among them, and the scale they were computed for."""

    rects: dict[str, Rect]
    scale: float
    collapsed: frozenset[str]

    def __getitem__(self, name: str) -> Rect:
        return self.rects[name]

    def __contains__(self, name: str) -> bool:
        return name in self.rects


def automatic_scale(width: float, height: float) -> float:
    """UI scale for a window: 1 at 1280x720, 1.25 at 1920x1080, 2 at 4K; never so large that the columns meet."""
    by_height = 0.5 + height / 1440.0
    by_width = width / 1180.0
    return float(min(max(min(by_height, by_width), 0.75), 2.5))


def compute_layout(
    width: float,
    height: float,
    scale: float = 0.0,
    collapsed: Iterable[str] = (),
    hidden: Iterable[str] = (),
    replay: bool = False,
) -> Layout:
    """Rectangles of status bar, panels, view bar, legend, timeline and the 3D view.

    Args:
        width, height: window size [px].
        scale: UI scale, 0 = automatic. Reduced when the columns would not leave the view 40 % of the width.
        collapsed: panels that show only their title.
        hidden: panels left out altogether, e.g. "tactile" in a scene without pads.
        replay: an episode is played; its panel takes the places of those for driving and recording.

    Raises:
        ValueError: a name in collapsed or hidden is no panel.
    """
    collapsed, hidden = frozenset(collapsed), frozenset(hidden)
    for name in sorted(collapsed | hidden):
        if name not in (*PANELS, "replay"):
            raise ValueError(f"no panel is called {name!r}; panels: {', '.join(PANELS)}")
    scale = scale if scale > 0.0 else automatic_scale(width, height)
    scale = min(scale, 0.6 * width / (268.0 + 300.0 + 40.0)) if width >= MIN_WIDTH else min(scale, 1.0)
    gap = round(8 * scale)
    bar = round(38 * scale)
    timeline = round(54 * scale)
    rects = {
        "status": Rect(0, 0, width, bar),
        "timeline": Rect(0, height - timeline, width, timeline),
    }
    top, bottom = bar + gap, height - timeline - gap
    left_edge, right_edge = 0.0, float(width)
    if width >= MIN_WIDTH and height >= MIN_HEIGHT:
        left_width, right_width = round(268 * scale), round(300 * scale)
        side = "replay" if replay else "left"
        left = _column(side, gap, top, left_width, bottom - top, gap, scale, collapsed, hidden)
        right = _column(
            "right", width - gap - right_width, top, right_width, bottom - top, gap, scale, collapsed, hidden
        )
        rects |= left | right
        left_edge = gap + left_width if left else 0.0
        right_edge = width - gap - right_width if right else float(width)
    view = Rect(left_edge + gap, top, right_edge - left_edge - 2 * gap, bottom - top)
    rects["view"] = view
    rects["view_bar"] = Rect(view.x, view.y, view.width, round(34 * scale))
    legend_width = min(round(380 * scale), view.width)
    legend_height = round(46 * scale)
    rects["legend"] = Rect(
        view.center[0] - 0.5 * legend_width, view.bottom - legend_height, legend_width, legend_height
    )
    banner_height = round(64 * scale)
    rects["banner"] = Rect(view.x, rects["view_bar"].bottom + gap, view.width, banner_height)
    return Layout(rects, scale, collapsed)


def _column(side, x, y, width, height, gap, scale, collapsed, hidden) -> dict[str, Rect]:
    """Stacks the panels of one column; spare height is shared out, lack of height is taken from everyone alike."""
    title = round(30 * scale)
    rows = [row for row in COLUMNS[side] if row[0] not in hidden]
    if not rows:
        return {}
    opened = [row for row in rows if row[0] not in collapsed]
    room = height - gap * (len(rows) - 1) - title * (len(rows) - len(opened))
    wanted = {name: smallest * scale for name, _, smallest in opened}
    spare = room - sum(wanted.values())
    if spare >= 0.0:
        shares = sum(share for _, share, _ in opened) or 1.0
        heights = {name: wanted[name] + spare * share / shares for name, share, _ in opened}
    else:
        heights = {name: wanted[name] * room / sum(wanted.values()) for name in wanted}
    out = {}
    for name, _, _ in rows:
        size = heights.get(name, title)
        out[name] = Rect(x, y, width, size)
        y += size + gap
    return out
