"""Scene files end to end: every kind of mistake with its place and legal values; overrides; the list of scenes."""

import re
from pathlib import Path

import pytest

from engine.options import Options
from scenes import SceneError, list_scenes, load_config
from scenes.schema import Gripper, Strip

SCENES = sorted((Path(__file__).parents[2] / "scenes").glob("*.yaml"))

SMALL = """\
entities:
  strip:
    type: strip
    length: 280 mm
    width: 48 mm
    material: {young: 1.5 GPa}
  holder:
    type: body
    shape: {type: box, size: [1, 1, 1]}
    density: 1000
    position: [0, 0, 2]
"""


def load(tmp_path, text, *overrides):
    path = tmp_path / "scene.yaml"
    path.write_text(text, encoding="utf-8")
    return load_config(path, overrides)


def refusal(tmp_path, text, *overrides):
    with pytest.raises(SceneError) as error:
        load(tmp_path, text, *overrides)
    return str(error.value).replace(str(tmp_path) + "/", "")


@pytest.mark.parametrize("path", SCENES, ids=lambda p: p.stem)
def test_every_shipped_scene_loads(path):
    config = load_config(path)
    assert config.name == path.stem
    assert config.description != config.name
    # cuts, tape, tactile tasks, everything else
    assert any(config.file.options.dt == pytest.approx(dt) for dt in (0.005, 0.01, 1 / 90, 0.02, 1 / 30))


def test_list_scenes_finds_them_all_and_survives_a_broken_one(monkeypatch, tmp_path):
    names = [name for name, _, _ in list_scenes()]
    assert names == [p.stem for p in SCENES]
    assert {"strip_on_box", "tactile_press"} <= set(names) and sum(n.startswith("stress_") for n in names) == 4
    (tmp_path / "broken.yaml").write_text("entities: [", encoding="utf-8")
    monkeypatch.setattr("scenes.config.__file__", str(tmp_path / "config.py"))
    assert [(name, text[:15]) for name, _, text in list_scenes()] == [("broken", "cannot be loade")]


def test_values_defaults_and_places(tmp_path):
    config = load(tmp_path, SMALL)
    strip = config.file.entities["strip"]
    assert isinstance(strip, Strip)
    assert (strip.length, strip.width, strip.material.young) == (0.28, 0.048, 1.5e9)
    assert strip.material.poisson == 0.35 and strip.cells_across == 6
    assert config.file.options == Options()
    assert (strip.at("width").line, strip.at("width").column) == (5, 12)
    assert strip.at("cells_across").line == 3  # a default: the entity's own place


def test_a_scene_is_found_by_name():
    assert load_config("strip_on_box").path.name == "strip_on_box.yaml"
    text = r"no scene 'strip_on_bx' \(did you mean 'strip_on_box'\?\); scenes: .*stress_"
    with pytest.raises(SceneError, match=text):
        load_config("strip_on_bx")
    with pytest.raises(SceneError, match="there is no file nowhere.yaml"):
        load_config("nowhere.yaml")


MISTAKES = [
    (
        "length: 280 mm",
        "lenght: 280 mm",
        "scene.yaml:4:5: unknown key 'lenght' in entities.strip (did you mean 'length'?); legal keys: type, position",
    ),
    ("    length: 280 mm\n", "", "scene.yaml:3:5: entities.strip lacks 'length': a length [m]"),
    (
        "280 mm",
        "280 GPa",
        "scene.yaml:4:13: entities.strip.length: '280 GPa' is a pressure; a length belongs here, legal units: m, mm",
    ),
    ("280 mm", "long", "scene.yaml:4:13: entities.strip.length: 'long' is not a number"),
    ("280 mm", "-1", "scene.yaml:4:13: entities.strip.length is -1; it must be greater than 0"),
    ("280 mm", "[1, 2]", "scene.yaml:4:13: entities.strip.length is a list; it must be a length [m]"),
    (
        "{young: 1.5 GPa}",
        "stiff",
        "scene.yaml:6:15: entities.strip.material is 'stiff'; it must be a mapping, keys: young, poisson",
    ),
    (
        "young: 1.5 GPa",
        "poisson: 0.6",
        "scene.yaml:6:25: entities.strip.material.poisson is 0.6; it must lie between -1.0 and 0.5",
    ),
    (
        "type: strip",
        "type: stirp",
        "scene.yaml:3:11: entities.strip.type is 'stirp' (did you mean 'strip'?); legal values: strip, sheet",
    ),
    ("    type: strip\n", "", "entities.strip lacks 'type'; legal values: strip, sheet"),
    (
        "type: box",
        "type: ball",
        "scene.yaml:9:19: entities.holder.shape.type is 'ball'; legal values: box, rounded_box",
    ),
    (
        "size: [1, 1, 1]",
        "size: [1, 1]",
        "scene.yaml:9:30: entities.holder.shape.size is a list of 2; it must be a list of 3: a length [m] each",
    ),
    ("density: 1000", "mass: 1 m", "scene.yaml:10:11: entities.holder.mass: '1 m' is a length; a mass belongs here"),
    ("    density: 1000\n", "", "scene.yaml:8:5: entities.holder needs either 'density' or 'mass'"),
    (
        "position",
        "driven: maybe\n    position",
        "scene.yaml:11:13: entities.holder.driven is 'maybe'; it must be true or false",
    ),
    (
        "position",
        "tool: true\n    position",
        "scene.yaml:11:11: entities.holder has 'tool' but is not driven; write driven: true",
    ),
    (
        "width: 48 mm",
        "width: 48 mm\n    cells_across: 2.5",
        "scene.yaml:6:19: entities.strip.cells_across is '2.5'; it must be a whole number",
    ),
    (
        "width: 48 mm",
        "width: 48 mm\n    cells_along: 7",
        "scene.yaml:6:18: entities.strip.cells_along is 7; it must be even",
    ),
    (
        "width: 48 mm",
        "width: 48 mm\n    attach: [{body: hodler}]",
        "scene.yaml:6:21: entities.strip.attach.body: there is no body 'hodler' (did you mean "
        "'holder'?); legal: holder",
    ),
    (
        "width: 48 mm",
        "width: 48 mm\n    look: {color: red}",
        "scene.yaml:6:19: entities.strip.look.color is 'red'; it must be a quoted colour",
    ),
    (
        "width: 48 mm",
        "width: 48 mm\n    look: {finish: matt}",
        "entities.strip.look.finish is 'matt' (did you mean 'matte'?); legal values: matte, satin",
    ),
    (
        "{type: box, size: [1, 1, 1]}",
        "{type: mesh, file: gone.stl}",
        "scene.yaml:9:31: entities.holder.shape.file: there is no file",
    ),
    (
        "{type: box, size: [1, 1, 1]}",
        "{type: mesh, file: part.step}",
        "scene.yaml:9:31: entities.holder.shape.file is 'part.step'; legal endings: .stl, .obj, .ply",
    ),
    ("entities:", "options: {dt: 0}\nentities:", "scene.yaml:1:15: options.dt is 0; it must be greater than 0"),
    ("entities:", "camera: {eye: [0, -1e308, 0]}\nentities:", "camera.eye[1] is -1e308; it must lie between"),
    ("entities:", "options: {integrator: euler}\nentities:", "scene.yaml:1:23: options.integrator is 'euler'"),
    (
        "entities:",
        "options: {ccd_conservative: 2}\nentities:",
        "scene.yaml:1:29: options.ccd_conservative is 2.0; it must lie between 0 and 1",
    ),
    (
        "entities:",
        "gravty: [0, 0, 0]\nentities:",
        "scene.yaml:1:1: unknown key 'gravty' in the scene (did you mean 'gravity'?)",
    ),
    (
        "entities:",
        "ignore: [[strip, holdr]]\nentities:",
        "ignore: there is no mesh 'holdr' (did you mean 'holder'?); legal: holder, strip",
    ),
    (
        "entities:",
        "joints: {j: {kind: revolute, child: holder, anchor: [0, 0, 0]}}\nentities:",
        "scene.yaml:1:13: joints.j is revolute; it needs 'axis'",
    ),
    ("  holder:", "  camera:", "scene.yaml:7:3: an entity cannot be called 'camera': a section has that name"),
    ("  holder:", "  'a b':", "scene.yaml:7:3: 'a b' in entities is not a name"),
]


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES, ids=[m[2][-40:] for m in MISTAKES])
def test_mistakes_name_place_value_and_legal_values(tmp_path, old, new, message):
    assert old in SMALL
    assert message in refusal(tmp_path, SMALL.replace(old, new, 1))


def test_motion_must_rise_and_a_loop_must_close(tmp_path):
    text = (
        SMALL
        + "    driven: true\n    motion: {after: loop, keyframes: [{time: 0}, {time: 1, translation: [0, 0, 1]}]}\n"
    )
    assert "entities.holder.motion loops but its last keyframe is not its first pose" in refusal(tmp_path, text)
    assert "time 0 s does not come after 0 s" in refusal(tmp_path, text.replace("{time: 1,", "{time: 0,"))
    load(tmp_path, text.replace("after: loop", "after: hold"))


def test_mistakes_in_an_included_file_name_that_file(tmp_path):
    (tmp_path / "part.yaml").write_text("entities:\n  strip: {widht: 1}\n", encoding="utf-8")
    message = refusal(tmp_path, "include: part.yaml\n" + SMALL)
    assert message.startswith("part.yaml:2:11: unknown key 'widht' in entities.strip")


def test_missing_mesh_lists_the_files_that_are_there(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "gear.stl").write_text("", encoding="utf-8")
    text = SMALL.replace("{type: box, size: [1, 1, 1]}", "{type: mesh, file: parts/gaer.stl}")
    message = refusal(tmp_path, text)
    assert "(did you mean 'gear.stl'?); files there: gear.stl" in message


def test_overrides_reach_entities_sections_lists_and_nested_keys(tmp_path):
    config = load(
        tmp_path,
        SMALL,
        "strip.width=0.019",
        "options.dt=5 ms",
        "entities.strip.material.young=2e9",
        "holder.position.2=3",
        "strip.contact.friction_mu=0.7",
        "camera.eye=[1, 2, 3]",
        "holder.gravity=no",
    )
    strip, holder = config.file.entities["strip"], config.file.entities["holder"]
    assert (strip.width, strip.material.young, strip.contact.friction_mu) == (0.019, 2e9, 0.7)
    assert config.file.options.dt == 0.005 and holder.position == (0.0, 0.0, 3.0) and holder.gravity is False
    assert config.file.camera.eye == (1.0, 2.0, 3.0)
    assert strip.contact.dhat == 3e-4, "an override of one key keeps the defaults of its neighbours"
    assert config.overrides[0] == "strip.width=0.019"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "strip.widht=1",
            "--set strip.widht=1: unknown key 'widht' in entities.strip (did you mean 'width'?); "
            "legal keys: type, position",
        ),
        ("strip.width=1 GPa", "--set strip.width=1 GPa: entities.strip.width: '1 GPa' is a pressure"),
        (
            "strp.width=1",
            "there is no 'strp' in the scene (did you mean 'strip'?); entities: strip, holder; "
            "sections: name, description",
        ),
        ("strip.width", "an override is written --set path=value"),
        ("=3", "an override is written --set path=value"),
        ("strip..width=3", "an override is written --set path=value"),
        ("strip.width.x=3", "entities.strip.width is '48 mm'; it has no 'x'"),
        ("holder.position.9=3", "entities.holder.position is a list; '9' must be a number below 3"),
        ("strip.width=[", "'[' is not a value"),
        ("include=x.yaml", "'include' cannot be overridden"),
        (
            "strip.material.poisson=0.5",
            "--set strip.material.poisson=0.5: entities.strip.material.poisson is 0.5; it must lie",
        ),
        ("strip=3", "entities.strip is '3'; it must be a mapping with the key 'type'"),
    ],
)
def test_bad_overrides(tmp_path, override, message):
    assert message in refusal(tmp_path, SMALL, override)


def test_a_gripper_lends_its_bodies_to_references(tmp_path):
    text = SMALL + "  hand: {type: gripper}\nignore: [[hand.left, strip]]\n"
    config = load(tmp_path, text)
    assert config.body_names == ("holder", "hand.palm", "hand.left", "hand.right")
    assert isinstance(config.file.entities["hand"], Gripper)


def test_to_dict_is_plain_and_free_of_paths():
    found = load_config("strip_on_box", ["strip.width=0.03"]).to_dict()
    assert found["entities"]["strip"]["width"] == 0.03 and found["name"] == "strip_on_box"
    assert not re.search(r"/", str(found["script"]))
