"""How dear a redraw may be: steps down by itself when frames take too long, and says so."""

from __future__ import annotations

import polyscope as ps

LEVELS = ("low", "medium", "high")
TOO_SLOW = 0.060  # [s] a redraw
PATIENCE = 12  # redraws in a row

# level: (samples per pixel axis, ground, transparency, drawn shadow)
LOOKS = {
    "high": (2, "shadow_only", "pretty", True),
    "medium": (1, "shadow_only", "none", True),
    "low": (1, "none", "none", False),
}


class Quality:
    """Chooses the level; `wanted` is "auto" or a level."""

    def __init__(self, wanted: str = "auto"):
        self.wanted = wanted
        self.level = "medium" if wanted == "auto" else wanted
        self.seconds = 0.0  # smoothed cost of a redraw [s]
        self._slow = 0

    def apply(self) -> None:
        samples, ground, transparency, _ = LOOKS[self.level]
        ps.set_SSAA_factor(samples)
        ps.set_ground_plane_mode(ground)
        ps.set_transparency_mode(transparency)
        if transparency == "pretty":
            ps.set_transparency_render_passes(3)
        ps.set_shadow_blur_iters(4)
        ps.set_shadow_darkness(0.30)

    @property
    def shadows(self) -> bool:
        return LOOKS[self.level][3]

    def note(self, seconds: float) -> str:
        """Takes one redraw's cost [s]; returns a sentence when it made drawing cheaper, else ''."""
        self.seconds = seconds if self.seconds == 0.0 else 0.9 * self.seconds + 0.1 * seconds
        self._slow = self._slow + 1 if seconds > TOO_SLOW else 0
        if self.wanted != "auto" or self._slow < PATIENCE or self.level == LEVELS[0]:
            return ""
        self._slow = 0
        self.level = LEVELS[LEVELS.index(self.level) - 1]
        return f"drawing took {1e3 * self.seconds:.0f} ms a frame: picture quality is now {self.level}"
