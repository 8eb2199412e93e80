"""Tacktile's own robots: a small generator that writes URDF, meshes and sensor files into `assets/robots`.

`python -m scenes.robots` writes all of them anew.
"""
