"""From a robot entity to driven affine bodies, gels on its links and tools for the operator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from engine.mesh.mass import moments_from_inertia, shift_moments
from engine.robots.kinematics import Kinematics
from scenes.build_sensor import add_sensor, link_from_gel
from scenes.errors import SceneError, did_you_mean, legal_list
from scenes.gel_faces import Surface as LinkFaces
from scenes.link_shapes import MeshSearch, Surface, collision_surface, visual_surface
from scenes.motion import rigid_transform, transform_points
from scenes.robot import EndEffector, Robot, RobotEntity, RobotTool
from scenes.scene import Tool, Visual
from scenes.sensors import load_sensors
from scenes.touching import touching_pairs
from scenes.urdf import RobotFile, read_urdf


def add_robot(draft, name: str, entity: RobotEntity) -> None:
    """Bodies NAME.LINK, one for each group of links that fixed joints hold together, where the start coordinates put
    them; gels NAME.SENSOR; one tool an end effector. Raises SceneError naming link, joint, file or sensor."""
    file = read_urdf(entity.urdf, entity.at("urdf"))
    try:
        kinematics = Kinematics(file.robot)
    except ValueError as error:
        raise SceneError(f"{entity.urdf.name}: {error}", entity.at("urdf")) from None
    tools = _tools(name, entity, kinematics)
    start = _start(entity, kinematics, tools)
    base = rigid_transform(entity.position, entity.rotation)
    poses = base @ kinematics.forward(start)
    groups = file.robot.rigid_groups()
    _check_names(entity, kinematics)
    group_of = {link: head for head, links in groups.items() for link in links}
    bodies, surfaces = {}, {}
    search = MeshSearch(entity.urdf.resolve(), entity.packages, entity.substitute, entity.at("urdf"))
    for head, links in groups.items():
        surface = _add_link(draft, f"{name}.{head}", entity, file, kinematics, poses, links, search)
        if surface is not None:
            bodies[f"{name}.{head}"] = head
            surfaces[head] = surface
    pads = _add_sensors(draft, name, entity, kinematics, poses, group_of, surfaces)
    _filter_contact(draft, name, entity, file, group_of, bodies, pads)
    gels = {pad.mesh: f"{name}.{pad.group}" for pad in pads}
    robot = Robot(name, kinematics, base, start, bodies, tools, entity.lead, gels)
    draft.robots[name] = robot
    for tool in tools:
        _add_tool(draft, robot, tool, group_of, poses, surfaces, entity, pads)


# Bodies ---------------------------------------------------------------------------------------------------------
def _add_link(draft, body, entity: RobotEntity, file: RobotFile, kinematics, poses, links, search) -> Surface | None:
    """One body for a group of links; its mesh frame is the frame of the first. None without any shape."""
    head = np.linalg.inv(poses[kinematics.link_index(links[0])])
    collision, visual = [], []
    for link in links:
        local = head @ poses[kinematics.link_index(link)]
        shapes = file.collision[link] or file.visual[link]
        if file.visual[link] and not file.collision[link]:
            draft.notes.append(f"link '{link}' has no collision shape; its visual one collides")
        found = collision_surface(f"link '{link}'", shapes, search, entity.collision, entity.triangles, draft.notes)
        if found is not None:
            collision.append(_moved(found, local))
        drawn = file.visual[link] if entity.visual == "file" else ()
        seen = visual_surface(f"link '{link}'", drawn, search) if drawn else None
        if seen is not None:
            visual.append(_moved(seen, local))
    if not collision:
        return None
    surface = _merged(collision)
    drawn = _merged(visual) if visual else None
    mass, com, inertia = _inertia(file, kinematics, poses, links, head)
    limit = next((entity.force_limits[link] for link in links if link in entity.force_limits), entity.force_limit)
    given = {"mass": mass, "com": com, "inertia": inertia}
    if mass is None:
        given = {"density": entity.density} if surface.closed else {"mass": _hull_mass(surface, entity.density)}
    draft.builder.add_body(
        body, surface.vertices, surface.triangles, entity.contact, transform=_rigid(poses, kinematics, links[0]),
        stiffness=entity.stiffness, driven=True, force_limit=limit, gravity=entity.gravity,
        visual=None if drawn is None else (drawn.vertices, drawn.triangles), **given,
    )  # fmt: skip
    look = entity.look
    color = look.color if drawn is None or drawn.color is None or "look" in entity.key_place else drawn.color
    half = entity.contact.half_thickness
    draft.visuals[body] = Visual(color, look.finish, look.transparency, look.smooth, look.show, half)
    return surface


def _moved(surface: Surface, transform: np.ndarray) -> Surface:
    return Surface(transform_points(transform, surface.vertices), surface.triangles, surface.closed, surface.color)


def _merged(surfaces: list[Surface]) -> Surface:
    starts = np.cumsum([0] + [len(s.vertices) for s in surfaces[:-1]])
    return Surface(
        np.vstack([s.vertices for s in surfaces]),
        np.vstack([s.triangles + start for s, start in zip(surfaces, starts, strict=True)]),
        all(s.closed for s in surfaces),
        next((s.color for s in surfaces if s.color is not None), None),
    )


def _rigid(poses: np.ndarray, kinematics: Kinematics, link: str) -> np.ndarray:
    """The pose of a link with its rotation made orthonormal again: rounding adds up along a chain."""
    pose = poses[kinematics.link_index(link)].copy()
    u, _, vt = np.linalg.svd(pose[:3, :3])
    pose[:3, :3] = u @ vt
    return pose


def _inertia(file: RobotFile, kinematics, poses, links, head):
    """(mass, com (3,), inertia (3, 3) about it) of a group in its first link's frame. inertia None: of its shape,
    because the file has none or none that a body can have; mass None: not in the file."""
    known = {link.name: link for link in file.robot.links}
    mine = [known[link] for link in links if known[link].mass is not None]
    if not mine:
        return None, None, None
    mass, moments, sound = sum(link.mass for link in mine), np.zeros((4, 4)), True
    for link in mine:
        local = head @ poses[kinematics.link_index(link.name)]
        rotation = local[:3, :3]
        try:
            about = moments_from_inertia(link.mass, rotation @ link.inertia @ rotation.T)
        except (ValueError, TypeError):
            sound = False
            break
        moments += shift_moments(about, -transform_points(local, link.com[None])[0])
    if not sound:
        return mass, None, None
    com = moments[0, 1:] / mass
    central = shift_moments(moments, com)[1:, 1:]
    return mass, com, np.trace(central) * np.eye(3) - central


def _hull_mass(surface: Surface, density: float) -> float:
    import trimesh

    return density * float(trimesh.convex.convex_hull(surface.vertices).volume)


# Sensors and contact ----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _GelOnLink:
    mesh: str
    group: str


def _add_sensors(draft, name, entity: RobotEntity, kinematics, poses, group_of, surfaces) -> list[_GelOnLink]:
    if entity.sensors is None:
        return []
    pads = []
    for label, sensor in load_sensors(entity.sensors).items():
        if sensor.link not in group_of or group_of[sensor.link] not in surfaces:
            legal = [link for link, head in group_of.items() if head in surfaces]
            hint = did_you_mean(sensor.link, legal)
            raise SceneError(
                f"sensor '{label}': robot '{name}' has no link '{sensor.link}' with a shape{hint}; links: "
                f"{legal_list(legal)}", sensor.at("link"),
            )  # fmt: skip
        group = group_of[sensor.link]
        world_from_gel = poses[kinematics.link_index(sensor.link)] @ link_from_gel(sensor)
        gel_from_head = np.linalg.inv(world_from_gel) @ poses[kinematics.link_index(group)]
        faces = LinkFaces(transform_points(gel_from_head, surfaces[group].vertices), surfaces[group].triangles)
        mesh = f"{name}.{label}"
        try:
            add_sensor(draft, mesh, sensor, f"{name}.{group}", world_from_gel, faces)
        except SceneError:
            raise
        except ValueError as error:
            raise SceneError(f"sensor '{label}': {error}", sensor.place) from error
        pads.append(_GelOnLink(mesh, group))
    return pads


def _filter_contact(draft, name, entity: RobotEntity, file: RobotFile, group_of, bodies, pads) -> None:
    """Which parts of a robot never touch: links that a joint joins, a gel and the links next to its own, pairs that the
    entity names, everything without self_collision, and what touches at the start (said in a note)."""
    ignore = draft.builder.ignore_contact
    parts = {body: link for body, link in bodies.items()} | {pad.mesh: pad.group for pad in pads}
    soft = {pad.mesh for pad in pads}
    near = {(group_of[j.parent], group_of[j.child]) for j in file.robot.joints}
    near |= {(group_of.get(a, a), group_of.get(b, b)) for a, b in entity.ignore}
    near |= {(b, a) for a, b in near}
    silent, rest = set(), []
    for first, second in _pairs(parts):
        joined = parts[first] == parts[second] or (parts[first], parts[second]) in near
        if not entity.self_collision or (joined and not {first, second} <= soft):
            silent.add((first, second))
        else:
            rest.append((first, second))
    meshes = {part: draft.builder.parts[part] for part in parts}
    reach = {part: mesh.contact.half_thickness for part, mesh in meshes.items()}
    touching = touching_pairs({p: (m.vertices, m.triangles) for p, m in meshes.items()}, reach, rest)
    for pair in sorted(silent) + touching:
        ignore(*pair)
    if touching:
        shown = legal_list(f"{a} and {b}" for a, b in touching[:6]) + (", ..." if len(touching) > 6 else "")
        draft.notes.append(f"{name}: {len(touching)} pairs of its parts touch at the start and never will: {shown}")


def _pairs(names: Iterable[str]) -> list[tuple[str, str]]:
    names = list(names)
    return [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]


# Start and tools --------------------------------------------------------------------------------------------------
def _check_names(entity: RobotEntity, kinematics: Kinematics) -> None:
    links = kinematics.links
    asked = [(link, "force_limits") for link in entity.force_limits]
    asked += [(link, "ignore") for pair in entity.ignore for link in pair]
    for link, key in asked:
        if link not in links:
            hint = did_you_mean(link, links)
            raise SceneError(f"{key}: there is no link '{link}'{hint}; links: {legal_list(links)}", entity.at(key))


def _start(entity: RobotEntity, kinematics: Kinematics, tools) -> np.ndarray:
    start = kinematics.vector({})
    for tool in tools:
        start[tool.fingers] = tool.opened
    for joint, value in entity.joints.items():
        index = _joint(kinematics, joint, "joints", entity.at("joints"))
        low, high = kinematics.lower[index], kinematics.upper[index]
        if not low - 1e-9 <= value <= high + 1e-9:
            raise SceneError(
                f"joints: '{joint}' starts at {value:g}; its limits are {low:g} to {high:g}", entity.at("joints")
            )
        start[index] = value
    return kinematics.clip(start)


def _joint(kinematics: Kinematics, joint: str, key: str, place) -> int:
    try:
        return kinematics.index(joint)
    except KeyError as error:
        raise SceneError(f"{key}: {error.args[0]}{did_you_mean(joint, kinematics.names)}", place) from None


def _tools(name: str, entity: RobotEntity, kinematics: Kinematics) -> tuple[RobotTool, ...]:
    tools = []
    for label, asked in entity.end_effectors.items():
        if asked.link not in kinematics.links:
            hint = did_you_mean(asked.link, kinematics.links)
            raise SceneError(
                f"end effector '{label}': there is no link '{asked.link}'{hint}; links: {legal_list(kinematics.links)}",
                asked.at("link"),
            )
        fingers, opened, closed = _gripper(label, asked, kinematics)
        above = kinematics.above(asked.link)
        arm = [i for i in above if i not in fingers]
        if asked.joints is not None:
            arm = [_joint(kinematics, joint, f"{label}.joints", asked.at("joints")) for joint in asked.joints]
        moved = entity.base == "moved" and not tools
        if moved and above:
            names = legal_list(kinematics.names[i] for i in above)
            raise SceneError(f"base: moved needs an end effector that no joint moves against the base; '{asked.link}' "
                             f"is moved by {names}", asked.at("link"))  # fmt: skip
        if not moved and not arm:
            raise SceneError(f"end effector '{label}': no joint moves '{asked.link}'; legal: a link further out, or "
                             "base: moved for a hand without an arm", asked.at("link"))  # fmt: skip
        tool_name = name if len(entity.end_effectors) == 1 else f"{name}.{label}"
        frame = rigid_transform(asked.position, asked.rotation)
        group = next(h for h, links in kinematics.robot.rigid_groups().items() if asked.link in links)
        tools.append(RobotTool(
            tool_name, asked.link, frame, f"{name}.{group}", np.array(arm, int), moved, fingers, opened, closed,
            _effort(label, asked, kinematics, fingers), asked.closing_time, asked.lever,
        ))  # fmt: skip
    return tuple(tools)


def _gripper(label: str, asked: EndEffector, kinematics: Kinematics):
    if set(asked.open) != set(asked.closed):
        odd = sorted(set(asked.open) ^ set(asked.closed))
        raise SceneError(f"end effector '{label}': open and closed must name the same joints; only one of them names "
                         f"{legal_list(odd)}", asked.at("closed"))  # fmt: skip
    fingers = np.array([_joint(kinematics, joint, f"{label}.open", asked.at("open")) for joint in asked.open], int)
    ends = []
    for key in ("open", "closed"):
        values = np.array([getattr(asked, key)[joint] for joint in asked.open], float)
        wrong = (values < kinematics.lower[fingers] - 1e-9) | (values > kinematics.upper[fingers] + 1e-9)
        if wrong.any():
            i = int(np.argmax(wrong))
            low, high = kinematics.lower[fingers[i]], kinematics.upper[fingers[i]]
            raise SceneError(f"end effector '{label}': {key} puts '{kinematics.names[fingers[i]]}' at {values[i]:g}; "
                             f"its limits are {low:g} to {high:g}", asked.at(key))  # fmt: skip
        ends.append(values)
    return fingers, *ends


def _effort(label: str, asked: EndEffector, kinematics: Kinematics, fingers: np.ndarray) -> np.ndarray:
    limits = {joint.name: joint.effort for joint in kinematics.robot.joints}
    for joint in asked.effort:
        if joint not in asked.open:
            raise SceneError(
                f"end effector '{label}': effort names '{joint}', which is not one of its gripper's joints: "
                f"{legal_list(asked.open) or 'none'}", asked.at("effort"),
            )  # fmt: skip
    return np.array([asked.effort.get(kinematics.names[i], limits[kinematics.names[i]]) for i in fingers], float)


def _add_tool(draft, robot: Robot, tool: RobotTool, group_of, poses, surfaces, entity: RobotEntity, pads) -> None:
    group = group_of[tool.link]
    if group not in surfaces:
        raise SceneError(
            f"end effector '{tool.name}': link '{tool.link}' has no shape, so there is no body to move", entity.place
        )
    k = robot.kinematics
    home = _rigid(poses, k, group)
    pivot = np.linalg.inv(home) @ poses[k.link_index(tool.link)] @ tool.frame
    moved = {group_of[link] for link in k.links if set(k.above(link)) & set(tool.fingers)} | {group}
    meshes = tuple(b for b, link in robot.bodies.items() if link in moved)
    meshes += tuple(pad.mesh for pad in pads if pad.group in moved)
    draft.tools.append(
        Tool(tool.name, tool.body, home, grasp_meshes=meshes, robot=robot.name, pivot=tuple(pivot[:3, 3]))
    )
