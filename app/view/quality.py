"""How dear a redraw may be: steps down by itself when frames take too long, and says so."""

from __future__ import annotations

from collections import deque

import numpy as np
import polyscope as ps

LEVELS = ("low", "medium", "high")
TOO_SLOW = 0.060  # [s] a redraw
CHEAP = 0.008  # [s] a redraw: a graphics card is at work, the best pictures cost nothing
PATIENCE = 12  # redraws in a row
SHADERS = 4  # first redraws compile shaders: their cost says nothing

# level: (samples per pixel axis, ground, transparency, drawn shadow). Software rendering at 1280x720 on one core:
# medium 33 ms, a blurred ground shadow 115 ms more, four samples a pixel with depth peeling over a second.
LOOKS = {
    "high": (2, "shadow_only", "pretty", True),
    "medium": (1, "none", "none", True),
    "low": (1, "none", "none", False),
}


class Quality:
    """Chooses the level; `wanted` is "auto" or a level."""

    def __init__(self, wanted: str = "auto"):
        self.wanted = wanted
        self.level = "medium" if wanted == "auto" else wanted
        self.seconds = 0.0  # [s] median of the last redraws
        self._recent: deque = deque(maxlen=PATIENCE)
        self._quick = 0
        self._skip = SHADERS
        self._may_rise = True

    def apply(self) -> None:
        samples, ground, transparency, _ = LOOKS[self.level]
        ps.set_SSAA_factor(samples)
        ps.set_ground_plane_mode(ground)
        ps.set_transparency_mode(transparency)
        if transparency == "pretty":
            ps.set_transparency_render_passes(3)
        ps.set_shadow_blur_iters(2)
        ps.set_shadow_darkness(0.30)

    @property
    def shadows(self) -> bool:
        return LOOKS[self.level][3]

    def note(self, seconds: float) -> str:
        """Takes one redraw's cost [s]; returns a sentence when the level changed (then call `apply`), else ''."""
        if self._skip > 0:
            self._skip -= 1
            return ""
        self._recent.append(seconds)
        self.seconds = float(np.median(self._recent))
        self._quick = self._quick + 1 if seconds < CHEAP else 0
        if self.wanted != "auto":
            return ""
        if len(self._recent) == PATIENCE and min(self._recent) > TOO_SLOW and self.level != LEVELS[0]:
            cost = self.seconds
            self._recent.clear()
            self._may_rise = False
            self.level = LEVELS[LEVELS.index(self.level) - 1]
            return f"drawing took {1e3 * cost:.0f} ms a frame: picture quality is now {self.level}"
        if self._quick >= 3 * PATIENCE and self._may_rise and self.level != LEVELS[-1]:
            self._quick, self._may_rise = 0, False
            self.level = LEVELS[-1]
            return f"drawing is quick here: picture quality is now {self.level}"
        return ""
