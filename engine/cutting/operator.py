"""The operator's cut, in two stages: armed it shows where it would run, confirmed it cuts."""

from __future__ import annotations

import numpy as np

from engine.cutting.cut import Cut
from engine.cutting.splitting import Node, node_place


class OperatorCut:
    """One armed cut at a time. engine: an Engine; it is changed by `confirm` alone.

    A line given in the world is pinned to the material when it is armed: the ghost moves with the sheet. Undo is the
    matter of whoever keeps checkpoints: `Engine.set_state` of a state before the cut joins the pieces again.
    """

    def __init__(self, engine):
        self.engine = engine
        self.cuts: list[Cut] = []  # in rest places, one a stretch of the line
        self._paths: list[list[Node]] = []
        self._version = -1  # of the topology for which the paths hold

    @property
    def armed(self) -> bool:
        return bool(self.cuts)

    def arm(self, cut: Cut) -> list[np.ndarray]:
        """The ghost, see there. Raises KeyError or ValueError for a cut that cannot be made; an earlier armed cut is
        kept then."""
        self.cuts, self._paths = self.engine.plan_cut(cut)
        self._version = len(self.engine.cuts)
        return self.ghost()

    def ghost(self) -> list[np.ndarray]:
        """Polylines in the world along which the armed cut would run now [m], (k, 3) each; [] when none is armed, or
        when other cuts have taken its mesh away."""
        if self.armed and self._version != len(self.engine.cuts):
            self._paths, self._version = [], len(self.engine.cuts)
            for cut in self.cuts:
                try:
                    self._paths += self.engine.plan_cut(cut)[1]
                except ValueError:
                    continue
        if not self.armed:
            return []
        places = self.engine.mesh_positions(self.cuts[0].mesh, self.cuts[0].world)
        return [np.array([node_place(places, node) for node in path]) for path in self._paths]

    def disarm(self) -> None:
        self.cuts, self._paths = [], []

    def confirm(self) -> list[Cut]:
        """Cut; the edits that were made, for a recording. Raises ValueError when nothing is armed."""
        if not self.cuts:
            raise ValueError("no cut is armed; call arm(Cut(...)) first")
        cuts = self.cuts
        self.disarm()
        self.engine.apply(cuts)
        return cuts
