"""Cutting shells: where a cut runs, what it makes of the mesh, and what triggers it (docs/physics/cutting.md)."""
