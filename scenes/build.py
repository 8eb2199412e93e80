"""From a validated scene file to a built scene."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from engine.builder import ModelBuilder, build_worlds
from engine.materials import ContactMaterial
from engine.options import Options
from engine.tactile.spec import SensorSpec
from engine.tape.asset import RollAsset
from engine.tape.placing import core_name
from scenes.build_carton import add_carton
from scenes.build_dispenser import add_dispenser, add_threaded_roll
from scenes.build_gripper import add_gripper
from scenes.build_robot import add_robot
from scenes.build_roll import add_roll_of_tape
from scenes.build_soft import add_pad, add_sheet, add_solid, add_strip
from scenes.build_stiff import add_body, add_cardboard_box, add_static
from scenes.cameras import scene_cameras
from scenes.carton import Carton
from scenes.config import SceneConfig
from scenes.dispenser import Dispenser
from scenes.errors import SceneError
from scenes.robot import Robot, RobotEntity
from scenes.roll import Roll
from scenes.scene import Scene, Tool, Visual
from scenes.schema import Body, CardboardBox, Gripper, Sheet, Solid, Static, Strip
from scenes.schema import Pad as PadEntity
from scenes.worlds import check_memory, free_memory, world_configs

FEW_WORLDS = 8  # below this memory is not asked for
PER_BATCH = "write `per: batch` in that draw: one value for all worlds of a batch"


@dataclass
class Draft:
    """What the entity builders fill: the engine's builder and the scene's own lists."""

    builder: ModelBuilder
    tools: list[Tool] = field(default_factory=list)
    pads: list[SensorSpec] = field(default_factory=list)
    visuals: dict[str, Visual] = field(default_factory=dict)
    motions: dict = field(default_factory=dict)
    rolls: dict[str, RollAsset] = field(default_factory=dict)
    robots: dict[str, Robot] = field(default_factory=dict)
    edges: dict = field(default_factory=dict)  # dispenser -> its blade's edge, (2, 3) in its frame [m]
    threaded: dict = field(default_factory=dict)  # dispenser -> (its roll, pose of the roll in the world)
    notes: list[str] = field(default_factory=list)

    def show(self, mesh: str, entity, contact: ContactMaterial | None = None) -> None:
        """Record how a mesh of `entity` is drawn; contact: its own, when the entity does not say it."""
        look = entity.look
        half_thickness = (contact or entity.contact).half_thickness
        self.visuals[mesh] = Visual(look.color, look.finish, look.transparency, look.smooth, look.show, half_thickness)


# Bodies come before the soft things that ride on them.
_STIFF = {
    Body: add_body, CardboardBox: add_cardboard_box, Carton: add_carton, Static: add_static, Gripper: add_gripper,
    RobotEntity: add_robot,
    Dispenser: add_dispenser,
}  # fmt: skip
_SOFT = {
    Strip: add_strip, Sheet: add_sheet, Solid: add_solid, PadEntity: add_pad, Roll: add_roll_of_tape,
    Dispenser: add_threaded_roll,
}  # fmt: skip


def build_scene(config: SceneConfig, device: str = "cpu", num_worlds: int | None = None, first: int | None = None,
                batch: int = 0) -> Scene:  # fmt: skip
    """Build the model of a scene on `device`.

    num_worlds: None: what the file says. Several worlds are drawn by the section `randomise`, one alone is the scene as
    written. first: index of the first world in the whole set, so that one world, or a process's share, can be built by
    itself; batch: number of the process, for draws per batch.

    Raises SceneError naming the file and line of the entity: bad meshes, regions without vertices, surfaces that start
    touching (the engine's start checks name the pair and the depth), draws that do not fit, too many worlds.
    """
    count = config.file.worlds if num_worlds is None else num_worlds
    if count < 1:
        raise SceneError(f"num_worlds is {count}; a scene has at least one world", config.file.at("worlds"))
    as_written = count == 1 and first is None
    drawn = config if as_written else world_configs(config, 1, first or 0, batch)[0]
    draft, file = draft_scene(drawn), drawn.file
    if count > FEW_WORLDS:  # before a million worlds are drawn
        alone = _model(config, [drawn], draft, "cpu")
        check_memory(alone, count, free_memory(device), file.at("worlds") or file.place)
    configs = [drawn] if count == 1 else world_configs(config, count, first or 0, batch)
    model = _model(config, configs, draft, device)
    camera = file.camera
    return Scene(
        name=config.name,
        description=config.description,
        config=config,
        model=model,
        options=_options(file.options, draft.rolls),
        tools=draft.tools,
        pads=draft.pads,
        camera=(camera.eye, camera.target, camera.up),
        bookmarks={name: (view.eye, view.target) for name, view in camera.bookmarks.items()},
        cameras=scene_cameras(file),
        visuals=draft.visuals,
        task=file.task.text,
        steps=list(file.task.steps),
        hints=list(file.task.hints),
        motions=draft.motions,
        rolls=draft.rolls,
        robots=draft.robots,
        edges=draft.edges,
        notes=draft.notes + list(draft.builder.model_warnings),
        draws=[one.overrides[len(config.overrides) :] for one in configs],
    )


def draft_scene(config: SceneConfig) -> Draft:
    """Everything of one world, ready to be made a model. Raises SceneError."""
    file = config.file
    draft = Draft(ModelBuilder(gravity=file.gravity))
    for kinds in (_STIFF, _SOFT):
        for name, entity in file.entities.items():
            if type(entity) in kinds:
                _at(entity.place, kinds[type(entity)], draft, name, entity)
    for name, joint in file.joints.items():
        _at(
            joint.place, draft.builder.add_joint, name, joint.kind, joint.parent, joint.child, joint.anchor, joint.axis,
            joint.lower, joint.upper, joint.drive, spring=joint.spring, friction=joint.friction,
        )  # fmt: skip
    for sticking in file.adhesion:
        partners = "all" if sticking.partners == ("all",) else sticking.partners
        _at(
            sticking.place, draft.builder.add_adhesion, sticking.mesh, sticking.side, partners, sticking.adhesive,
            sticking.stuck,
        )  # fmt: skip
    for pair in file.ignore:
        draft.builder.ignore_contact(*pair)
    for pair in file.ignore_layers:
        draft.builder.ignore_layers(*pair)
    return draft


def _model(config: SceneConfig, configs: list[SceneConfig], draft: Draft, device: str):
    """The batch; `draft` is that of the first world."""
    place, count = config.file.at("worlds") or config.file.place, len(configs)
    try:
        if count == 1:
            return draft.builder.finalize(device=device)
        drafts = {id(configs[0]): draft}
        for one in configs:
            if id(one) not in drafts:
                drafts[id(one)] = draft_scene(one)
        return build_worlds([drafts[id(one)].builder for one in configs], device)
    except SceneError:
        raise
    except ValueError as error:
        mesh = getattr(error, "mesh", "")  # of a start check; a gripper's meshes are called NAME.part
        owners = {core_name(name): name for name in draft.rolls}
        entity = config.file.entities.get(owners.get(mesh, mesh.split(".")[0]))
        hint = f"; {PER_BATCH}" if "in its topology" in str(error) else ""
        raise SceneError(str(error) + hint, entity.place if entity else place) from error


def _options(options: Options, rolls: dict[str, RollAsset]) -> Options:
    """With a candidate slack that suits wound layers, unless the scene chose its own."""
    if not rolls or options.candidate_slack > 0.0:
        return options
    return replace(options, candidate_slack=min(asset.spec.candidate_slack for asset in rolls.values()))


def _at(place, function, *args, **kwargs):
    """Call; errors of the engine's checks come out as SceneError with the place of the entity."""
    try:
        return function(*args, **kwargs)
    except SceneError:
        raise
    except (ValueError, np.linalg.LinAlgError) as error:
        raise SceneError(str(error), place) from error
