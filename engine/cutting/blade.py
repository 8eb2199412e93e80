"""A blade that cuts by pressure: pressed hard enough on a strip for some steps, it cuts along its edge (paper T).

Pressure is the contact force between blade and strip over the length of the edge that touches times the width of the
contact. A blade is any body or static mesh with a straight edge; it touches like any other surface until it cuts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.cutting.cut import Cut, mean_edge


@dataclass(frozen=True)
class BladeContact:
    """What a blade's edge does to a mesh after a step, in one world.

    force: resultant on the mesh [N]; start, stop: stretch of the edge that touches [m] along it, from its first end;
    pressure [Pa].
    """

    force: float = 0.0
    start: float = 0.0
    stop: float = 0.0
    pressure: float = 0.0


class BladeCutter:
    """Watches one blade. Call `update` after each step and apply the cuts that it asks for, or call `cut`.

    Args:
        engine: an Engine of one world.
        blade: name of a body or static mesh.
        edge: (2, 3) ends of its cutting edge in the mesh's own frame [m].
        targets: names of the shells that it may cut.
        threshold: pressure at which it cuts [Pa].
        steps: how many steps in a row the pressure must be reached.
        contact_width: width of the contact across the edge [m], None = the target's dhat, the range of its barrier.
        enabled: False: it only presses.
    """

    def __init__(
        self, engine, blade: str, edge, targets, threshold: float = 1e3, steps: int = 2, contact_width=None,
        enabled: bool = True,
    ):  # fmt: skip
        targets = (targets,) if isinstance(targets, str) else tuple(targets)
        meshes = engine.model.meshes
        for name, kinds in ((blade, ("body", "static")), *((t, ("shell",)) for t in targets)):
            if name not in meshes:
                raise KeyError(f"BladeCutter: no mesh '{name}'; available: {', '.join(meshes)}")
            if meshes[name].kind not in kinds:
                raise ValueError(
                    f"BladeCutter: mesh '{name}' is a {meshes[name].kind}; it must be a {' or '.join(kinds)}"
                )
        self.edge = np.asarray(edge, float)
        if self.edge.shape != (2, 3) or not np.isfinite(self.edge).all() or np.ptp(self.edge, axis=0).max() == 0.0:
            raise ValueError(
                f"BladeCutter.edge is {edge!r}; it must be two different places, (2, 3) in the mesh frame [m]"
            )
        for label, value in (("threshold", threshold), ("steps", steps), ("contact_width", contact_width)):
            if value is not None and not value > 0:
                raise ValueError(f"BladeCutter.{label} is {value!r}; it must be greater than 0")
        if engine.model.num_worlds != 1:
            raise ValueError(
                f"BladeCutter: the model has {engine.model.num_worlds} worlds; a cut would change all of them, so a "
                "blade cuts in models of one world only"
            )
        self.engine, self.blade, self.targets = engine, blade, targets
        self.threshold, self.steps, self.contact_width, self.enabled = threshold, int(steps), contact_width, enabled
        self.contacts = {name: BladeContact() for name in targets}  # after the last `update`
        self.pressed_steps = {name: 0 for name in targets}
        self.refused = ""  # why the last cut was not made, "" = it was
        self.waiting = set()  # targets that refused a cut: asked again once the blade has lifted off them

    def update(self) -> list[Cut]:
        """Read the contacts of the last step; cuts that are due now, to be applied before the next step."""
        due = []
        for name in self.targets:
            contact = self.contacts[name] = self._read(name)
            self.pressed_steps[name] = self.pressed_steps[name] + 1 if contact.pressure > self.threshold else 0
            if contact.force == 0.0:
                self.waiting.discard(name)
            if self.enabled and self.pressed_steps[name] >= self.steps and name not in self.waiting:
                self.pressed_steps[name] = 0
                due.append(self._cut(name, contact))
        return due

    def cut(self) -> list[Cut]:
        """`update` and apply; the cuts that were made. One that the mesh refuses is left out, see `refused`."""
        made = []
        for cut in self.update():
            try:
                self.engine.apply([cut])
                made.append(cut)
                self.refused = ""
            except ValueError as error:
                self.refuse(cut.mesh, str(error))
        return made

    def refuse(self, target: str, why: str) -> None:
        """A cut that was asked for cannot be made: it is not asked for again before the blade has lifted."""
        self.refused = why
        self.waiting.add(target)

    def forget(self) -> None:
        """The state was set from outside: nothing was pressed before."""
        self.pressed_steps = dict.fromkeys(self.targets, 0)
        self.waiting.clear()

    def memory(self) -> tuple[dict[str, int], set[str]]:
        """What `remember` takes, to go on as if the state had not been set: it decides the next cut as well."""
        return dict(self.pressed_steps), set(self.waiting)

    def remember(self, memory: tuple[dict[str, int], set[str]]) -> None:
        self.pressed_steps, self.waiting = dict(memory[0]), set(memory[1])

    def edge_now(self) -> np.ndarray:
        """Ends of the edge in the world [m], (2, 3)."""
        engine, info = self.engine, self.engine.model.meshes[self.blade]
        if info.kind == "body":
            pose = engine.body_transform(self.blade)
            return self.edge @ pose[:3, :3].T + pose[:3, 3]
        ones = np.ones((len(info.rest), 1))
        place = np.linalg.lstsq(np.hstack([info.rest, ones]), engine.mesh_positions(self.blade), rcond=None)[0]
        return np.hstack([self.edge, np.ones((2, 1))]) @ place

    def _read(self, name: str) -> BladeContact:
        force, feet = self._pairs(name)
        if not len(force):
            return BladeContact()
        info, (a, b) = self.engine.model.meshes[name], self.edge_now()
        length = np.linalg.norm(b - a)
        along = np.clip((feet - a) @ (b - a) / length, 0.0, length)
        width = self.contact_width or info.contact.dhat
        reach = width + info.contact.half_thickness + self.engine.model.meshes[self.blade].contact.half_thickness
        near = np.linalg.norm(feet - a - along[:, None] * (b - a) / length, axis=1) <= reach
        if not near.any():
            return BladeContact()
        total = float(np.linalg.norm(force[near].sum(axis=0)))
        start, stop = float(along[near].min()), float(along[near].max())
        touching = max(stop - start, mean_edge(info.rest, info.triangles))
        return BladeContact(total, start, stop, total / (touching * width))

    def _pairs(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Force on the target and foot on the blade of every active pair with free tape, (k, 3) each."""
        engine, model, system = self.engine, self.engine.model, self.engine.newton.system
        if not system.has_contact:
            return np.zeros((0, 3)), np.zeros((0, 3))
        engine.newton.read_contact()
        count = int(system.contacts.count.numpy()[0])
        points = system.contacts.points.numpy()[:count].reshape(-1, 4)
        weights = np.abs(system.contacts.weights.numpy()[:count].reshape(-1, 4))
        gradient = system.contacts.gradient.numpy()[:count].reshape(-1, 4, 3)
        if engine.reduction is not None:
            points = engine.reduction.points[points]
        blade, target = (
            (points >= model.meshes[m].points.start) & (points < model.meshes[m].points.stop)
            for m in (self.blade, name)
        )
        wound = engine._riding.points[engine._riding.on_carrier]
        mine = (blade | target).all(axis=1) & blade.any(axis=1) & target.any(axis=1)
        mine &= ~(target & np.isin(points, wound)).any(axis=1)
        x = engine.positions()
        share = np.where(blade, weights, 0.0)[mine]
        feet = np.einsum("ij,ijk->ik", share, x[points[mine]]) / np.maximum(share.sum(axis=1), 1e-300)[:, None]
        force = -np.einsum("ij,ijk->ik", target[mine].astype(float), gradient[mine])
        return force, feet

    def _cut(self, name: str, contact: BladeContact) -> Cut:
        """Along the edge where it touches, and a cell further: feet lie at vertices and crossings of the mesh."""
        info, (a, b) = self.engine.model.meshes[name], self.edge_now()
        length, cell = float(np.linalg.norm(b - a)), mean_edge(info.rest, info.triangles)
        start, stop = max(contact.start - cell, 0.0), min(contact.stop + cell, length)
        line = np.array([a + (b - a) * (s / length) for s in (start, stop)])
        return Cut(name, line, space="world")
