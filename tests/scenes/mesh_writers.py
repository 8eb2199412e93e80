"""Mesh files written by the tests themselves."""

import struct

import numpy as np


def write_stl(path, vertices, triangles, binary=True):
    corners = vertices[triangles]
    if binary:
        body = b"".join(struct.pack("<12fH", *np.zeros(3), *c.ravel(), 0) for c in corners.astype(np.float32))
        path.write_bytes(b"solid made up".ljust(80) + struct.pack("<I", len(corners)) + body)
        return path
    lines = ["solid made up"]
    for c in corners:
        lines += ["facet normal 0 0 0", "outer loop", *(f"vertex {p[0]:.9g} {p[1]:.9g} {p[2]:.9g}" for p in c)]
        lines += ["endloop", "endfacet"]
    path.write_text("\n".join([*lines, "endsolid"]), encoding="utf-8")
    return path
