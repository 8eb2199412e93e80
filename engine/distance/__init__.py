"""Closest features of point-triangle and edge-edge pairs, and the mollifier of nearly parallel edges."""
