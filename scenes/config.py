"""Loading a scene: read, override, validate, and check that names point at something."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from scenes.carton import Carton
from scenes.dispenser import Dispenser
from scenes.errors import Place, SceneError, did_you_mean, legal_list
from scenes.names import body_names, mesh_names, sheet_names
from scenes.overrides import apply_override
from scenes.reading import ROOT, plain
from scenes.roll import Roll
from scenes.schema import SCENE, Body, Gripper, Motion, Pad, SceneFile, Sheet, Solid, Static, Strip
from scenes.yaml_tree import Tree, read_tree

_SECTIONS = tuple(SCENE.fields())
_ATTACHABLE = Strip | Sheet | Solid | Roll


@dataclass(frozen=True)
class SceneConfig:
    """A validated scene file.

    path: the file; file: its tables (scenes.schema.SceneFile); overrides: as given; name, description: never empty.
    """

    path: Path
    file: SceneFile
    overrides: tuple[str, ...]
    name: str
    description: str
    tree: Tree | None = field(default=None, repr=False, compare=False)  # as read, overrides laid over it

    def to_dict(self) -> dict:
        """Plain nested values in SI units, defaults included: what an episode keeps to rebuild the scene."""
        return plain(self.file) | {"name": self.name}

    @property
    def body_names(self) -> tuple[str, ...]:
        """Names of all bodies the scene makes, those of grippers included."""
        return body_names(self.file)


def load_config(path: str | Path, overrides: list[str] | tuple[str, ...] = ()) -> SceneConfig:
    """Read, merge, override and validate a scene file.

    path: file, or the name of a scene that ships (`strip_on_box`). overrides: `path=value` texts, see
    scenes.overrides. Raises SceneError naming file, line and column (or the override) and the legal values.
    """
    path = _find(path)
    return _read(path, read_tree(path), (), overrides)


def overridden(config: SceneConfig, overrides: list[str] | tuple[str, ...]) -> SceneConfig:
    """The scene with further overrides; its files are not read again. Raises SceneError."""
    if config.tree is None:
        return load_config(config.path, (*config.overrides, *overrides))
    return _read(config.path, config.tree, config.overrides, overrides)


def _read(path: Path, tree: Tree, before: tuple[str, ...], overrides: list[str] | tuple[str, ...]) -> SceneConfig:
    for text in overrides:
        tree = apply_override(tree, text, _SECTIONS)
    _check_names(tree)
    file = SCENE.read(tree, ROOT)
    _check_references(file)
    name = file.name or path.stem
    return SceneConfig(path, file, (*before, *overrides), name, file.description or name, tree)


def list_scenes() -> list[tuple[str, Path, str]]:
    """(name, path, description) of every scene that ships, by name. A broken one is listed with its error."""
    found = []
    for path in sorted(Path(__file__).parent.glob("*.yaml")):
        try:
            config = load_config(path)
            found.append((config.name, path, config.description))
        except SceneError as error:
            found.append((path.stem, path, f"cannot be loaded: {error}"))
    return found


def _find(path: str | Path) -> Path:
    path = Path(path)
    if path.suffix in (".yaml", ".yml") or path.is_file():
        return path
    shipped = Path(__file__).parent / f"{path.name}.yaml"
    if path.parent == Path(".") and shipped.is_file():
        return shipped
    names = [p.stem for p in sorted(Path(__file__).parent.glob("*.yaml"))]
    hint = did_you_mean(path.name, names)
    raise SceneError(f"there is no scene '{path}'{hint}; scenes: {legal_list(names)}; or give a .yaml file")


def _check_names(tree: Tree) -> None:
    entities = tree.value.get("entities")
    if entities is None or not isinstance(entities.value, dict):
        return
    for name in entities.value:
        if name in _SECTIONS:
            place = entities.key_place.get(name, entities.place)
            raise SceneError(f"an entity cannot be called '{name}': a section has that name", place)


def _check_references(file: SceneFile) -> None:
    """Names of bodies and meshes, and demands between keys of one entity. Raises SceneError."""
    bodies, meshes = body_names(file), mesh_names(file)
    for name, entity in file.entities.items():
        if isinstance(entity, _ATTACHABLE):
            for attachment in entity.attach:
                _known(attachment.body, bodies, f"entities.{name}.attach.body", "body", attachment.at("body"))
        if isinstance(entity, Pad):
            _known(entity.held_by, bodies, f"entities.{name}.held_by", "body", entity.at("held_by"))
        if isinstance(entity, Solid) and sum(v is not None for v in (entity.size, entity.mesh, entity.balls)) != 1:
            raise SceneError(f"entities.{name} needs either 'size' (a box), 'mesh' (a file) or 'balls'", entity.place)
        if isinstance(entity, Body):
            _check_body(name, entity)
        if isinstance(entity, Roll):
            _check_roll(name, entity, bodies)
        if isinstance(entity, Strip) and (entity.cells_along or 0) % 2:
            message = f"entities.{name}.cells_along is {entity.cells_along}; it must be even"
            raise SceneError(message, entity.at("cells_along"))
    for name, joint in file.joints.items():
        _known(joint.child, bodies, f"joints.{name}.child", "body", joint.at("child"))
        if joint.parent is not None:
            _known(joint.parent, bodies, f"joints.{name}.parent", "body", joint.at("parent"))
        if joint.kind in ("revolute", "prismatic") and joint.axis is None:
            raise SceneError(f"joints.{name} is {joint.kind}; it needs 'axis'", joint.place)
    if file.blade is not None:
        _check_blade(file, bodies)
    if file.seal is not None:
        for key, kind in (("carton", Carton), ("dispenser", Dispenser)):
            able = tuple(name for name, entity in file.entities.items() if isinstance(entity, kind))
            _known(getattr(file.seal, key), able, f"seal.{key}", key, file.seal.at(key))
    if file.wrap is not None:
        _check_wrap(file, meshes)
    for name, camera in file.cameras.items():
        if camera.on is not None:
            _known(camera.on, bodies, f"cameras.{name}.on", "body", camera.at("on"))
    for pair in file.ignore:
        for mesh in pair:
            _known(mesh, meshes, "ignore", "mesh", file.at("ignore"))
    for k, sticking in enumerate(file.adhesion):
        _known(sticking.mesh, meshes, f"adhesion[{k}].mesh", "mesh", sticking.at("mesh"))
        if not sticking.partners:
            raise SceneError(f"adhesion[{k}].partners is empty; name meshes, or [all]", sticking.at("partners"))
        for partner in sticking.partners if sticking.partners != ("all",) else ():
            _known(partner, meshes, f"adhesion[{k}].partners", "mesh", sticking.at("partners"))


def _check_wrap(file: SceneFile, meshes: tuple[str, ...]) -> None:
    wrap, entities = file.wrap, file.entities.items()
    _known(wrap.roll, tuple(n for n, e in entities if isinstance(e, Roll)), "wrap.roll", "roll", wrap.at("roll"))
    for name in wrap.around:
        _known(name, meshes, "wrap.around", "mesh", wrap.at("around"))
    if not wrap.around:
        raise SceneError("wrap.around is empty; name what is wrapped", wrap.at("around"))
    _known(wrap.hand, tuple(n for n, e in entities if isinstance(e, Gripper)), "wrap.hand", "gripper", wrap.at("hand"))
    tools = tuple(n for n, e in entities if isinstance(e, Body) and e.tool)
    _known(wrap.finger, tools, "wrap.finger", "body with tool: true", wrap.at("finger"))


def _check_blade(file: SceneFile, bodies: tuple[str, ...]) -> None:
    blade = file.blade
    holders = bodies + tuple(n for n, e in file.entities.items() if isinstance(e, Static))
    _known(blade.mesh, holders, "blade.mesh", "body or static", blade.at("mesh"))
    for target in blade.targets:
        _known(target, sheet_names(file), "blade.targets", "strip, sheet or roll", blade.at("targets"))
    if not blade.targets:
        raise SceneError("blade.targets is empty; name what it may cut", blade.at("targets"))
    if blade.edge is None and not isinstance(file.entities.get(blade.mesh), Dispenser):
        raise SceneError("blade.edge is missing; only a dispenser brings its own", blade.at("mesh"))
    if blade.edge is not None and blade.edge[0] == blade.edge[1]:
        raise SceneError("blade.edge has no length; give two different places", blade.at("edge"))


def _check_body(name: str, body: Body) -> None:
    if (body.density is None) == (body.mass is None):
        raise SceneError(f"entities.{name} needs either 'density' or 'mass'", body.place)
    for key in ("tool", "motion", "force_limit"):
        if getattr(body, key) and not body.driven:
            raise SceneError(f"entities.{name} has '{key}' but is not driven; write driven: true", body.at(key))
    if body.motion is not None:
        _check_motion(f"entities.{name}.motion", body.motion)


def _check_roll(name: str, roll: Roll, bodies: tuple[str, ...]) -> None:
    if roll.axle_body is not None:
        _known(roll.axle_body, bodies, f"entities.{name}.axle_body", "body", roll.at("axle_body"))
        if roll.axle != "bearing":
            raise SceneError(f"entities.{name} has 'axle_body' but axle is {roll.axle}; write axle: bearing",
                             roll.at("axle_body"))  # fmt: skip
    if roll.preset is None and roll.asset is None and roll.width is None:
        raise SceneError(f"entities.{name} needs 'preset', 'asset' or at least 'width'", roll.place)


def _check_motion(name: str, motion: Motion) -> None:
    if not motion.keyframes:
        raise SceneError(f"{name}.keyframes is empty; it needs at least one keyframe", motion.at("keyframes"))
    for before, after in zip(motion.keyframes, motion.keyframes[1:], strict=False):
        if not after.time > before.time:
            message = f"{name}.keyframes: time {after.time:g} s does not come after {before.time:g} s"
            raise SceneError(message, after.at("time"))
    first, last = motion.keyframes[0], motion.keyframes[-1]
    if motion.after == "loop" and (first.translation != last.translation or first.rotation != last.rotation):
        raise SceneError(f"{name} loops but its last keyframe is not its first pose: the target would jump", last.place)


def _known(word: str, legal: tuple[str, ...], name: str, what: str, place: Place | None) -> None:
    if word not in legal:
        listed = legal_list(legal) or "none in this scene"
        raise SceneError(f"{name}: there is no {what} '{word}'{did_you_mean(word, legal)}; legal: {listed}", place)
