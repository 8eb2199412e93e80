"""Rolls of tape: strip, core, bearing, cluster, and what holds the layers together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.materials import BondAdhesive, FrontAdhesive
from engine.tape.asset import RollAsset, load_roll
from engine.tape.cluster import ClusterSpec
from engine.tape.placing import add_roll
from engine.tape.presets import PRESETS, shipped_roll
from engine.tape.winding import RollSpec, wind_roll
from scenes.build_soft import attach_regions
from scenes.errors import SceneError
from scenes.motion import rigid_transform
from scenes.roll import Roll
from scenes.scene import Visual
from scenes.shapes import check_count

_SPEC_KEYS = (
    "width", "cells_across", "turns", "free_length", "core_inner_radius", "core_outer_radius", "core_density",
    "material", "contact",
)  # fmt: skip
RELEASE_SHARE = 5.0  # of dhat: paper T's delta
CARRIER_STIFFNESS = 1e8  # of the cluster's orthogonality energy [Pa]
COVER_TURNS = 1.3  # outer turns of the cluster that stay in contact


def add_roll_of_tape(draft, name: str, roll: Roll, pose: np.ndarray | None = None) -> None:
    """The strip NAME, the core NAME_core, with R models the cluster NAME on the carrier NAME_cluster, with a bearing
    the joint NAME_axle. The core is tied to the tape by the adhesive alone. pose (4, 4), world from roll: in place of
    the entity's own."""
    asset = roll_asset(name, roll)
    spec = asset.spec
    if pose is None:
        pose = rigid_transform(roll.position, roll.rotation)
    if roll.origin == "tip":
        pose[:3, 3] -= pose[:3, :3] @ tip_of(asset)
    adhesive, on_core = _adhesives(name, roll)
    tape, core = add_roll(
        draft.builder, name, asset, pose, (*roll.velocity, 0.0, 0.0, 0.0), adhesive=adhesive, core_adhesive=on_core
    )
    attach_regions(draft, name, roll, asset.rest_vertices)
    hub = pose @ asset.hub_transform
    if roll.axle == "bearing":
        draft.builder.add_joint(
            f"{name}_axle", "revolute", roll.axle_body, core, hub[:3, 3], hub[:3, 1], friction=roll.axle_friction
        )
    if roll.model.endswith("-R"):
        volume = asset.num_wound_rows * spec.cell * spec.width * spec.material.thickness
        draft.builder.add_carrier(f"{name}_cluster", hub[:3, 3], CARRIER_STIFFNESS * volume)
        release = roll.release_distance or RELEASE_SHARE * spec.contact.dhat
        cover = int(COVER_TURNS * 2.0 * np.pi * asset.outer_radius / spec.cell)
        draft.builder.add_cluster(
            name,
            ClusterSpec(
                tape, f"{name}_cluster", asset.num_rows, spec.cells_across + 1, asset.num_wound_rows, release, cover,
                roll.collar_rows,
            ),
        )  # fmt: skip
    draft.rolls[name] = asset
    draft.show(name, roll, spec.contact)
    look = roll.core_look
    draft.visuals[core] = Visual(
        look.color, look.finish, look.transparency, look.smooth, look.show, spec.contact.half_thickness
    )


def tip_of(asset: RollAsset) -> np.ndarray:
    """Middle of the outer end in the roll frame [m], (3,)."""
    return asset.vertices[-(asset.spec.cells_across + 1) :].mean(axis=0)


def roll_asset(name: str, roll: Roll) -> RollAsset:
    """The file's roll, a settled one that ships, or one wound now: near rest, since its layers start where they stick.

    Raises SceneError.
    """
    if roll.asset is not None:
        given = [key for key in _SPEC_KEYS if getattr(roll, key) is not None]
        if given:
            raise SceneError(
                f"{name} has both 'asset' and '{given[0]}'; a wound roll brings its own numbers", roll.at(given[0])
            )
        try:
            return load_roll(roll.asset)
        except (ValueError, OSError) as error:
            raise SceneError(f"{name}.asset: {error}", roll.at("asset")) from error
    spec = RollSpec() if roll.preset is None else PRESETS[roll.preset].spec
    try:
        spec = replace(spec, **{key: getattr(roll, key) for key in _SPEC_KEYS if getattr(roll, key) is not None})
    except ValueError as error:  # names its own field: RollSpec.turns is ..
        key = str(error).split(" ")[0].removeprefix("RollSpec.")
        raise SceneError(str(error).replace("RollSpec.", f"{name}."), roll.at(key)) from error
    length = 2.0 * np.pi * spec.turns * (spec.core_outer_radius + spec.turns * spec.layer_pitch) + spec.free_length
    check_count(int(length / spec.cell) * (spec.cells_across + 1), roll.place)
    return _shipped(roll, spec) or wind_roll(spec)


def _shipped(roll: Roll, spec: RollSpec) -> RollAsset | None:
    """The settled roll that ships with exactly these numbers, if there is one."""
    if not roll.settled or roll.preset is None:
        return None
    try:
        asset = load_roll(shipped_roll(roll.preset, spec.turns))
    except FileNotFoundError:
        return None
    return asset if asset.spec == spec else None


def _adhesives(name: str, roll: Roll):
    """Between layers, on the core."""
    if roll.model.startswith("Bond"):
        return (roll.bond or BondAdhesive(),) * 2
    preset = FrontAdhesive() if roll.preset is None else PRESETS[roll.preset].adhesive
    adhesive = roll.adhesive or preset
    return adhesive, roll.core_adhesive or adhesive
