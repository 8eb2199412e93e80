"""What is fuzzed: kinds of files, good ones to begin from, the reader of each and the errors that it may raise.

A reader that returns, or refuses with one of its own errors, has done its work. Anything else is a finding.
"""

from __future__ import annotations

import io
import random
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.fuzz_mutations import mutate

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Target:
    """One kind of file."""

    name: str
    suffix: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[Path], object]
    refusals: Callable[[], tuple[type[BaseException], ...]]
    share: float  # of all mutations
    vary: Callable[[bytes, bytes, random.Random], bytes] = mutate
    around: Callable[[Path], None] | None = None  # lays out what the file names, in its folder


# -- episodes


def _recorded(folder: Path, seal: bool) -> list[bytes]:
    """An episode of a tiny engine, with everything that episodes may hold."""
    from app.record import Recorder, RecorderSettings
    from tests.app.record.fake_engine import FakeEngine, frame_at

    out = []
    for frames in (3, 12):
        engine = FakeEngine(num_points=12)
        settings = RecorderSettings(min_free_bytes=0, keyframe_every=4)
        recorder = Recorder(folder / str(frames), "strip", "a: 1\n", get_state=engine.get_state, settings=settings)
        name = recorder.start(engine.positions(), instruction="peel")
        for index in range(1, frames + 1):
            extra = {"tactile": {"pad": {"depth": np.eye(9), "force": np.ones(3)}}}
            # fewer columns than a real frame, of all kinds: each costs a millisecond to make and to read
            recorder.write(frame_at(engine, index, extra=extra, events=("touch",), status=None, report=None))
        if not seal:
            out.append((folder / str(frames) / f"{name}.log").read_bytes())
        recorder.close()
        if seal:
            out.append((folder / str(frames) / f"{name}.h5").read_bytes())
    return out


def _in_folder(make) -> list[bytes]:
    folder = Path(tempfile.mkdtemp(prefix="fuzz_"))
    try:
        return make(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _read_episode(path: Path) -> None:
    """Everything that the list, the browser, replay and exports ask."""
    from app.export import ExportOptions, demonstrations
    from app.record import Episode, list_episodes

    list_episodes(path.parent)
    with Episode(path) as episode:
        episode.validate()
        _ = episode.scene_yaml, episode.layout, episode.kept, episode.instruction
        for column in episode.columns():
            _ = episode[column]
        for number in range(min(3, len(episode.keyframe_rows))):
            episode.keyframe(number)
        _ = episode.events(), episode.requests(), episode.segments(), episode.hashes()
        for row in range(min(3, episode.num_frames)):
            episode.frame(row)
            episode.control(row)
        for demo in demonstrations(episode, ExportOptions(stretches="all")):
            _ = demo.observations, demo.time


def _episode_refusals():
    from app.export import ExportError
    from app.record import EpisodeError

    return (EpisodeError, ExportError)


def _vary_h5(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """Half the time raw bytes, half the time the structure, through h5py, with its checksums right."""
    if rng.random() < 0.5:
        return mutate(data, other, rng)
    import h5py

    file = io.BytesIO(data)
    try:
        with h5py.File(file, "r+") as h5:
            for _ in range(rng.randint(1, 3)):
                _vary_item(h5, rng)
    except Exception:  # noqa: BLE001 - h5py refuses some changes: then those before it are the variant
        pass
    return file.getvalue()


def _vary_item(h5, rng: random.Random) -> None:
    import h5py

    paths: list[str] = []
    h5.visit(paths.append)
    path = rng.choice(paths)
    item, parent, name = h5[path], h5[path].parent, path.rsplit("/", 1)[-1]
    how = rng.randrange(9)
    if how == 0:
        del parent[name]
    elif how == 1:
        rng.choice((h5, item)).attrs[
            rng.choice(("version", "num_frames", "kind", "format", "dtype", "shape", "name"))
        ] = rng.choice((-1, 0, 2**62, 1e300, "x" * 100, np.zeros(3), np.bytes_("ragged"), np.bytes_("json"), "object"))
    elif how == 2:
        del parent[name]
        parent[name] = rng.choice(
            (h5py.SoftLink("/meta"), h5py.SoftLink("/" + path), h5py.ExternalLink("/etc/passwd", "/"))
        )
    elif how == 3:
        del parent[name]
        shape = rng.choice(((0,), (2**40,), (1, 2**31), (), (5, 3, 2**20), (2**62,)))
        parent.create_dataset(name, shape, rng.choice(("f8", "u4", "S9", "i1", "u1")), chunks=True if shape else None)
    elif how == 4:
        del parent[name]
        kind = np.dtype([("a", "f8"), ("b", "O")]) if rng.random() < 0.3 else h5py.string_dtype()
        parent.create_dataset(name, (4,), h5py.string_dtype() if kind.names else kind)
    elif how == 5 and isinstance(item, h5py.Dataset) and item.dtype.kind in "iuf" and item.size:
        flat = item[...].reshape(-1)
        flat[rng.randrange(flat.size)] = rng.choice((0, 1, 2**31, 2**62)) if item.dtype.itemsize == 8 else 255
        item[...] = flat.reshape(item.shape)
    elif how == 6 and isinstance(item, h5py.Dataset) and item.maxshape and item.maxshape[0] is None:
        item.resize(rng.choice((0, 1, 2**20, 2**33)), axis=0)
    elif how == 7:
        h5[rng.choice(("points", "state/keyframe", "a/b/c", "control")) + f"/x{rng.randrange(9)}"] = np.zeros(3)
    elif how == 8 and isinstance(item, h5py.Group):
        deep = item
        for _ in range(40):
            deep = deep.require_group("g")


def _read_log(path: Path) -> None:
    """As the next start does with what a killed process left; and as sealing does."""
    from app.record import list_episodes, recover

    for found in recover(path.parent):
        assert found.text
    list_episodes(path.parent)


def _vary_log(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """Half the time raw bytes, half the time a payload that is changed and packed with the right checksum."""
    if rng.random() < 0.5:
        return mutate(data, other, rng)
    from app.record.framed_log import FramedLogReader, FramedLogWriter

    def rewrite(folder: Path) -> bytes:
        (folder / "a.log").write_bytes(data)
        records = [(record.kind, record.payload) for record in FramedLogReader(folder / "a.log")]
        for _ in range(rng.randint(1, 3)):
            k = rng.randrange(len(records))
            kind, payload = records[k]
            how = rng.randrange(4)
            if how == 0:
                records[k] = (rng.randrange(10), payload)
            elif how == 1:
                records.insert(rng.randrange(len(records)), records[k])
            elif how == 2 and len(records) > 2:
                del records[k]
            else:
                records[k] = (kind, mutate(payload, rng.choice(records)[1], rng))
        writer = FramedLogWriter(folder / "b.log", rng.choice(("raw", "zlib", "zstd")))
        for kind, payload in records:
            writer.append(kind, payload)
        writer.close()
        return (folder / "b.log").read_bytes()

    return _in_folder(lambda folder: [rewrite(folder)])[0]


# -- scenes and what they name


def _files(*patterns: str) -> list[bytes]:
    return [path.read_bytes() for pattern in patterns for path in sorted(ROOT.glob(pattern))]


def _scene_surroundings(folder: Path) -> None:
    """Includes, scripts and meshes of the shipped scenes, as links."""
    for name in ("parts", "scripts"):
        (folder / name).symlink_to(ROOT / "scenes" / name)
    if not (folder.parent / "assets").exists():
        (folder.parent / "assets").symlink_to(ROOT / "assets")


def _read_scene(path: Path) -> None:
    from scenes.config import load_config

    load_config(path)


def _build_scene(path: Path) -> None:
    from scenes.build import build_scene
    from scenes.config import load_config

    build_scene(load_config(path))


def _scene_refusals():
    from scenes.errors import SceneError

    return (SceneError,)


def _sensor_seeds() -> list[bytes]:
    """Files of a robot's sensors, and the shipped sensors written out in one."""
    written = []
    for preset in _files("assets/sensors/*.yaml"):
        lines = [b"    " + line for line in preset.splitlines() if not line.startswith(b"#")]
        written.append(b"sensors:\n  one:\n    link: finger\n" + b"\n".join(lines) + b"\n")
    return _files("assets/robots/*.sensors.yaml") + written


def _read_sensor(path: Path) -> None:
    from scenes.sensors import load_sensors

    load_sensors(path)


def _read_surface(path: Path) -> None:
    from scenes.mesh_files import read_surface

    read_surface(path, units="mm")
    read_surface(path, units="mm", repair=True)


def _read_tets(path: Path) -> None:
    from scenes.tet_files import read_tets

    read_tets(path, units="mm", repair=True)


def _surfaces(kind: str) -> list[bytes]:
    import trimesh

    shapes = [trimesh.creation.box((2, 3, 4)), trimesh.creation.icosphere(2, 5.0), trimesh.creation.annulus(1, 2, 3)]
    if kind == "obj":
        quads = (
            b"v 0 0 0\nv 9 0 0\nv 9 9 0\nv 0 9 0\nv 4 2 9\nf 4 3 2 1\nf 1/1 2/2/2 5//3\nf 2 3 5\nf 3 4 5\nf -2 -5 -1\n"
        )
        return [shape.export(file_type="obj").encode() for shape in shapes] + [quads]
    if kind == "ply":
        return [shape.export(file_type="ply", encoding=how) for shape in shapes for how in ("ascii", "binary")]
    text = [shape.export(file_type="stl_ascii") for shape in shapes]
    return [shape.export(file_type="stl") for shape in shapes] + [t.encode() if isinstance(t, str) else t for t in text]


_POINTS = np.array([[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9], [9, 9, 9]], float)
_TETS = np.array([[0, 1, 2, 3], [1, 2, 3, 4]])


def _vtk_seeds() -> list[bytes]:
    head = b"# vtk DataFile Version %s\ntets\n%s\nDATASET UNSTRUCTURED_GRID\nPOINTS 5 double\n"
    cells = np.column_stack([np.full(2, 4), _TETS])

    def text(values) -> bytes:
        return b"\n".join(b" ".join(str(v).encode() for v in row) for row in values.tolist()) + b"\n"

    ascii_2 = head % (b"2.0", b"ASCII") + text(_POINTS) + b"CELLS 2 10\n" + text(cells) + b"CELL_TYPES 2\n10\n10\n"
    binary = head % (b"2.0", b"BINARY") + _POINTS.astype(">f8").tobytes() + b"\nCELLS 2 10\n"
    binary += cells.astype(">i4").tobytes() + b"\nCELL_TYPES 2\n" + np.array([10, 10], ">i4").tobytes() + b"\n"
    new = head % (b"5.1", b"ASCII") + text(_POINTS) + b"CELLS 3 8\nOFFSETS vtktypeint64\n0 4 8\n"
    new += b"CONNECTIVITY vtktypeint64\n" + text(_TETS) + b"CELL_TYPES 2\n10\n10\n"
    return [ascii_2, binary, new]


def _msh_seeds() -> list[bytes]:
    nodes = [b"%d %g %g %g" % (i + 1, *p) for i, p in enumerate(_POINTS.tolist())]
    old = b"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n5\n" + b"\n".join(nodes) + b"\n$EndNodes\n$Elements\n2\n"
    old += b"1 4 2 0 1 1 2 3 4\n2 4 2 0 1 2 3 4 5\n$EndElements\n"
    new = b"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 5 1 5\n3 1 0 5\n1\n2\n3\n4\n5\n"
    new += b"\n".join(b"%g %g %g" % tuple(p) for p in _POINTS.tolist())
    new += b"\n$EndNodes\n$Elements\n1 2 1 2\n3 1 4 2\n1 1 2 3 4\n2 2 3 4 5\n$EndElements\n"
    return [old, new]


_DAE = b"""<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset>
<unit meter="0.001" name="mm"/><up_axis>Z_UP</up_axis></asset><library_geometries><geometry id="g" name="g"><mesh>
<source id="p"><float_array id="a" count="12">0 0 0 9 0 0 0 9 0 0 0 9</float_array><technique_common>
<accessor source="#a" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source><vertices id="v"><input semantic="POSITION"
source="#p"/></vertices><triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/>
<p>0 2 1 0 1 3 1 2 3 0 3 2</p></triangles></mesh></geometry></library_geometries><library_visual_scenes>
<visual_scene id="s"><node id="n"><instance_geometry url="#g"/></node></visual_scene></library_visual_scenes><scene>
<instance_visual_scene url="#s"/></scene></COLLADA>"""


def _read_dae(path: Path) -> None:
    from scenes.dae import read_dae

    read_dae(path, None)


def _read_urdf(path: Path) -> None:
    from scenes.urdf import read_urdf

    read_urdf(path)


# -- arrays and tables


def _roll_seeds() -> list[bytes]:
    return sorted(_files("assets/rolls/*.npz"), key=len)[:1]


def _read_roll(path: Path) -> None:
    from engine.tape.asset import load_roll

    load_roll(path)


def _vary_npz(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """Half the time raw bytes; else one entry is changed, or promises more than it holds."""
    if rng.random() < 0.4:
        return mutate(data, other, rng)
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        chosen = rng.choice(source.namelist())
        for name in source.namelist():
            raw = source.read(name)
            if name == chosen:
                how = rng.randrange(5)
                if how == 0:
                    continue
                if how == 1:
                    raw = mutate(raw[:400], b"", rng) + raw[400:]
                elif how == 2:
                    array = np.zeros((0,)) if rng.random() < 0.5 else np.array([{"a": 1}], dtype=object)
                    out_raw = io.BytesIO()
                    np.save(out_raw, array, allow_pickle=True)
                    raw = out_raw.getvalue()
                elif how == 3:
                    raw = raw.replace(b"'shape': (", b"'shape': (99999999999, ", 1)
                else:
                    raw = raw[:200] + bytes(rng.choice((10, 10**8)))  # 100 MB of zeros are 100 kB in the file
            target.writestr(name, raw)
    return out.getvalue()


def _read_state(path: Path) -> None:
    from engine.saving import load_state

    load_state(path, "0" * 32)


def _state_seeds() -> list[bytes]:
    from engine.options import Options
    from engine.saving import save_state

    def make(folder: Path) -> list[bytes]:
        save_state(folder / "a.npz", {"x": np.zeros((5, 3)), "step": np.arange(2)}, "0" * 32, Options())
        return [(folder / "a.npz").read_bytes()]

    return _in_folder(make)


def _read_calibration(path: Path) -> None:
    from engine.tactile.calibration import load_calibration

    load_calibration(path)


def _calibration_refusals():
    from engine.tactile.calibration import CalibrationError

    return (CalibrationError,)


def _read_keymap(path: Path) -> None:
    from devices.keymap import load_keymap

    load_keymap(path)


def _read_script(path: Path) -> None:
    from app.goals import load_goals
    from app.scripted import open_input

    open_input(f"scripted:{path}", None)
    load_goals(path)


def _read_settings(path: Path) -> None:
    from app.settings import Settings

    Settings.load(path)


def _value_error():
    return (ValueError,)


def _meta_seeds() -> list[bytes]:
    return [
        b'{"label": "success", "num_frames": 3, "trim": [0, 2], "findings": [["note", "x"]], "layout": {"driven": []}}'
    ]


def _read_meta(path: Path) -> None:
    from app.record import list_episodes
    from app.record.folder import read_meta

    read_meta(path)
    path.with_name("episode_0001.h5").write_bytes(b"")
    list_episodes(path.parent)


QUICK_SCENES = tuple(f"scenes/{name}.yaml" for name in ("strip_on_box", "cut", "peel", "stress_drop", "tactile_press"))

TARGETS = [
    Target("scene", ".yaml", lambda: _files("scenes/*.yaml"), _read_scene, _scene_refusals, 0.12,
           around=_scene_surroundings),
    Target("scene_built", ".yaml", lambda: _files(*QUICK_SCENES), _build_scene, _scene_refusals, 0.01,
           around=_scene_surroundings),
    Target("sensor", ".yaml", _sensor_seeds, _read_sensor, _scene_refusals, 0.12),
    Target("episode_h5", ".h5", lambda: _in_folder(lambda f: _recorded(f, True)), _read_episode, _episode_refusals,
           0.04, _vary_h5),
    Target("episode_log", ".log", lambda: _in_folder(lambda f: _recorded(f, False)), _read_log, _episode_refusals,
           0.03, _vary_log),
    Target("episode_meta", ".meta.json", _meta_seeds, _read_meta, _episode_refusals, 0.08),
    Target("stl", ".stl", lambda: _surfaces("stl"), _read_surface, _scene_refusals, 0.13),
    Target("obj", ".obj", lambda: _surfaces("obj"), _read_surface, _scene_refusals, 0.15),
    Target("ply", ".ply", lambda: _surfaces("ply"), _read_surface, _scene_refusals, 0.05),
    Target("dae", ".dae", lambda: [_DAE], _read_dae, _scene_refusals, 0.02),
    Target("vtk", ".vtk", _vtk_seeds, _read_tets, _scene_refusals, 0.12),
    Target("msh", ".msh", _msh_seeds, _read_tets, _scene_refusals, 0.12),
    Target("urdf", ".urdf", lambda: _files("assets/robots/*.urdf"), _read_urdf, _scene_refusals, 0.01),
    Target("roll", ".npz", _roll_seeds, _read_roll, _value_error, 0.002, _vary_npz),
    Target("state", ".npz", _state_seeds, _read_state, _value_error, 0.005, _vary_npz),
    Target("calibration", ".npz", lambda: _files("assets/sensors/*.npz"), _read_calibration, _calibration_refusals,
           0.005, _vary_npz),
    Target("keymap", ".yaml", lambda: _files("assets/keymap.yaml"), _read_keymap, _value_error, 0.02),
    Target("script", ".yaml", lambda: _files("scenes/scripts/*.yaml"), _read_script, _value_error, 0.02),
    Target("settings", ".yaml", lambda: [b"ui_scale: 1.0\nscales: {strain: 0.01}\ncollapsed: [a, b]\nquality: auto\n"],
           _read_settings, _value_error, 0.02),
]  # fmt: skip


def variant(target: Target, seeds: list[bytes], number: int) -> bytes:
    """Variant `number` of a kind: the same bytes whenever it is asked for."""
    rng = random.Random(f"{target.name} {number}")
    return target.vary(rng.choice(seeds), rng.choice(seeds), rng)
