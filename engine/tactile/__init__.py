"""Tactile sensors: what a camera behind a coated gel sees, and what the gel feels. See docs/physics/tactile.md."""
