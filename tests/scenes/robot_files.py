"""URDF files of a few lines and scenes around them, for tests."""

from __future__ import annotations

from pathlib import Path

from engine.mesh.shapes import box_surface
from tests.scenes.mesh_writers import write_stl

ARM = """<?xml version="1.0"?>
<!-- an arm of two links with a two-finger gripper -->
<robot name="arm">
  <material name="blue"><color rgba="0.1 0.2 0.8 1"/></material>
  <link name="base">
    <visual><geometry><box size="0.06 0.06 0.04"/></geometry><material name="blue"/></visual>
    <collision><geometry><box size="0.06 0.06 0.04"/></geometry></collision>
  </link>
  <link name="upper">
    <inertial><origin xyz="0.1 0 0"/><mass value="0.5"/>
      <inertia ixx="1e-4" ixy="0" ixz="0" iyy="2e-3" iyz="0" izz="2e-3"/></inertial>
    <collision><origin xyz="0.11 0 0"/><geometry><cylinder radius="0.015" length="0.1"/></geometry></collision>
  </link>
  <link name="fore">
    <collision><origin xyz="0.1 0 0"/><geometry><mesh filename="FORE" scale="0.001 0.001 0.001"/></geometry></collision>
  </link>
  <link name="palm"><collision><geometry><box size="0.02 0.06 0.02"/></geometry></collision></link>
  <link name="left"><collision><geometry><box size="0.03 0.006 0.01"/></geometry></collision></link>
  <link name="right"><collision><geometry><box size="0.03 0.006 0.01"/></geometry></collision></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.05"/>
    <axis xyz="0 0 2"/><limit lower="-2" upper="2" velocity="1.5" effort="9"/></joint>
  <joint name="bend" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0.2 0 0"/>
    <axis xyz="0 0 1"/><limit lower="-2.5" upper="2.5" velocity="1.5" effort="9"/></joint>
  <joint name="mount" type="fixed"><parent link="fore"/><child link="palm"/><origin xyz="0.2 0 0"/></joint>
  <joint name="slide" type="prismatic"><parent link="palm"/><child link="left"/><origin xyz="0.03 0.02 0"/>
    <axis xyz="0 -1 0"/><limit lower="0" upper="0.015" velocity="0.1" effort="5"/></joint>
  <joint name="other" type="prismatic"><parent link="palm"/><child link="right"/><origin xyz="0.03 -0.02 0"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="0.02" velocity="0.1" effort="5"/>
    <mimic joint="slide" multiplier="1"/></joint>
</robot>
"""

TOOL = "end_effectors: {hand: {link: palm, open: {slide: 0}, closed: {slide: 15 mm}, position: [30 mm, 0, 0]}}"


def write_arm(folder: Path, fore: str = "meshes/fore.stl", text: str = ARM) -> Path:
    """robots/arm.urdf with robots/meshes/fore.stl, a box in millimetres."""
    robots = folder / "robots"
    (robots / "meshes").mkdir(parents=True, exist_ok=True)
    write_stl(robots / "meshes" / "fore.stl", *box_surface((120.0, 30.0, 30.0)))
    path = robots / "arm.urdf"
    path.write_text(text.replace("FORE", fore), encoding="utf-8")
    return path


def write_scene(folder: Path, lines: str = "", more: str = "") -> Path:
    """A scene with the robot `r`. lines: further keys of the entity, one a line; more: further entities."""
    keys = "\n".join(f"    {line}" for line in lines.splitlines())
    path = folder / "scene.yaml"
    head = "options: {dt: 20 ms}\nentities:\n  r:\n    type: robot\n    urdf: robots/arm.urdf\n"
    path.write_text(f"{head}{keys}\n{more}", encoding="utf-8")
    return path
