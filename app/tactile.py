"""What a pad feels, as an image: displacement of its coat, along the coat's normal, sampled on a pixel grid.

The picture is taken in the coat's material coordinates (a pixel follows the gel, it does not stay over one place of the
housing); for the sub-millimetre slip of a pressed pad the two differ by less than a few pixels.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix


class PadImage:
    """Depth picture of one pad.

    Args:
        pad: with `mesh`, `coat` (k, 3) triangles in the mesh's vertices, `frame` (4, 4) pad to mesh with z out of the
            coat, `pixel_pitch` [m], `resolution` (width, height) or None, and the body that holds it (`body`).
        rest: the mesh's vertices at rest [m], (n, 3), world frame of the start.
        body_start: pose of the holding body at rest, (4, 4), None when nothing holds it.
    """

    def __init__(self, pad, rest: np.ndarray, body_start: np.ndarray | None):
        self.name = pad.name if getattr(pad, "name", None) else pad.mesh
        self.mesh = pad.mesh
        self.body = holder(pad)
        self.pitch = float(pad.pixel_pitch)
        coat = np.asarray(pad.coat)
        self.vertices, local = np.unique(coat, return_inverse=True)
        triangles = local.reshape(coat.shape)
        self._pad_from_world = np.linalg.inv(np.asarray(pad.frame, float))
        self._body_start = body_start
        self._rest = self._to_pad(rest[self.vertices], body_start)
        self._sample, self.shape, self._inside = _pixel_weights(
            self._rest[:, :2], triangles, self.pitch, pad.resolution
        )

    def _to_pad(self, x: np.ndarray, body: np.ndarray | None) -> np.ndarray:
        """Pad frame of the start, the holder's motion taken out."""
        if body is not None and self._body_start is not None:
            back = self._body_start @ np.linalg.inv(body)
            x = x @ back[:3, :3].T + back[:3, 3]
        return x @ self._pad_from_world[:3, :3].T + self._pad_from_world[:3, 3]

    def depth(self, x: np.ndarray, body: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Depth picture and the coat's own.

        Args:
            x: mesh vertices now [m], (n, 3), world. body: pose of the holder now, (4, 4).

        Returns:
            picture [m], (height, width), positive where the coat is pushed in, 0 outside the coat; and the same at the
            coat's vertices, (k,).
        """
        pushed = self._rest[:, 2] - self._to_pad(x[self.vertices], body)[:, 2]
        return (self._sample @ pushed).reshape(self.shape), pushed


def holder(pad) -> str | None:
    """Name of the body that holds a pad."""
    for key in ("body", "held_by"):
        if getattr(pad, key, None):
            return getattr(pad, key)
    return None


def _pixel_weights(uv, triangles, pitch, resolution):
    """Sparse (pixels, vertices) barycentric weights; row 0 of the picture is at the largest v."""
    low, high = uv.min(axis=0), uv.max(axis=0)
    if resolution is None:
        resolution = np.maximum(np.ceil((high - low) / pitch), 2)
    width, height = int(resolution[0]), int(resolution[1])
    center = 0.5 * (low + high)
    columns = center[0] + (np.arange(width) - 0.5 * (width - 1)) * pitch
    lines = center[1] - (np.arange(height) - 0.5 * (height - 1)) * pitch
    rows, cols, data = [], [], []
    filled = np.zeros(width * height, bool)
    for triangle in triangles:
        a, b, c = uv[triangle]
        area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        if abs(area) < 1e-18:
            continue
        corners = uv[triangle]
        i = np.flatnonzero((columns >= corners[:, 0].min() - 1e-12) & (columns <= corners[:, 0].max() + 1e-12))
        j = np.flatnonzero((lines >= corners[:, 1].min() - 1e-12) & (lines <= corners[:, 1].max() + 1e-12))
        if not len(i) or not len(j):
            continue
        px, py = np.meshgrid(columns[i], lines[j])
        wb = ((px - a[0]) * (c[1] - a[1]) - (py - a[1]) * (c[0] - a[0])) / area
        wc = ((b[0] - a[0]) * (py - a[1]) - (b[1] - a[1]) * (px - a[0])) / area
        wa = 1.0 - wb - wc
        pixel = j[:, None] * width + i[None, :]
        hit = (wa >= -1e-9) & (wb >= -1e-9) & (wc >= -1e-9) & ~filled[pixel]
        pixels = pixel[hit]
        filled[pixels] = True
        for weight, vertex in zip((wa[hit], wb[hit], wc[hit]), triangle, strict=True):
            rows.append(pixels)
            cols.append(np.full(len(pixels), vertex))
            data.append(weight)
    shape = (width * height, len(uv))
    if not rows:
        return csr_matrix(shape), (height, width), filled.reshape(height, width)
    sample = csr_matrix((np.concatenate(data), (np.concatenate(rows), np.concatenate(cols))), shape=shape)
    return sample, (height, width), filled.reshape(height, width)
