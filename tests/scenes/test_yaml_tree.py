"""Reading YAML with places: includes, merging, limits, and files that try to hurt."""

import pytest

from scenes import yaml_tree
from scenes.errors import SceneError
from scenes.yaml_tree import read_tree


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def refusal(path):
    with pytest.raises(SceneError) as error:
        read_tree(path)
    return str(error.value)


def test_every_value_knows_its_line_and_column(tmp_path):
    path = write(tmp_path, "a.yaml", "one: 1\ntwo:\n  three: [4,\n    5]\n")
    tree = read_tree(path)
    five = tree.value["two"].value["three"].value[1]
    assert (five.value, five.place.line, five.place.column) == ("5", 4, 5)
    assert str(five.place) == f"{path}:4:5"
    assert tree.value["two"].key_place["three"].line == 3


def test_includes_merge_mappings_and_replace_the_rest(tmp_path):
    write(tmp_path, "base/b.yaml", "options: {dt: 1, slack: 2}\nlist: [1, 2, 3]\nonly: base\n")
    write(tmp_path, "c.yaml", "options: {slack: 3}\nthird: c\n")
    path = write(tmp_path, "a.yaml", "include: [base/b.yaml, c.yaml]\noptions: {dt: 5}\nlist: [9]\n")
    tree = read_tree(path).value
    assert {k: v.value for k, v in tree["options"].value.items()} == {"dt": "5", "slack": "3"}
    assert [item.value for item in tree["list"].value] == ["9"]
    assert tree["only"].place.source.endswith("b.yaml") and tree["only"].place.line == 3
    assert "include" not in tree


def test_includes_are_relative_to_the_file_that_names_them(tmp_path):
    write(tmp_path, "x/y/inner.yaml", "deep: yes\n")
    write(tmp_path, "x/outer.yaml", "include: y/inner.yaml\n")
    assert read_tree(write(tmp_path, "a.yaml", "include: x/outer.yaml\n")).value["deep"].value == "yes"


def test_include_cycle_is_named(tmp_path):
    write(tmp_path, "b.yaml", "name: b\ninclude: a.yaml\n")
    message = refusal(write(tmp_path, "a.yaml", "include: b.yaml\n"))
    assert "b.yaml:2:10: include cycle: a.yaml -> b.yaml -> a.yaml" in message


def test_missing_include_names_file_line_and_what_is_there(tmp_path):
    write(tmp_path, "table.yaml", "")
    message = refusal(write(tmp_path, "a.yaml", "name: a\ninclude: tabel.yaml\n"))
    assert "a.yaml:2:10: there is no file" in message and "YAML files there: a.yaml, table.yaml" in message


def test_depth_and_number_of_includes_are_bounded(tmp_path):
    for i in range(12):
        write(tmp_path, f"f{i}.yaml", f"include: f{i + 1}.yaml\n")
    assert f"nested deeper than {yaml_tree.MAX_INCLUDE_DEPTH}" in refusal(tmp_path / "f0.yaml")
    write(tmp_path, "leaf.yaml", "a: 1\n")
    many = write(tmp_path, "many.yaml", "include:\n" + "  - leaf.yaml\n" * 40)
    assert f"more than {yaml_tree.MAX_FILES} files" in refusal(many)


def test_alias_bomb_and_deep_nesting_are_refused(tmp_path):
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    for i in range(1, 12):
        bomb += f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n"
    assert f"more than {yaml_tree.MAX_VALUES} values" in refusal(write(tmp_path, "bomb.yaml", bomb))
    assert "nested deeper" in refusal(write(tmp_path, "deep.yaml", "a: " + "[" * 60 + "]" * 60))
    assert "nested deeper" in refusal(write(tmp_path, "deeper.yaml", "a: " + "[" * 20_000))
    assert "nested deeper" in refusal(write(tmp_path, "loop.yaml", "a: &a [*a]\n"))


def test_large_file_other_encodings_and_broken_yaml(tmp_path):
    assert "a scene file has" in refusal(write(tmp_path, "big.yaml", "#" * (yaml_tree.MAX_FILE_BYTES + 1)))
    (tmp_path / "latin.yaml").write_bytes(b"name: \xe9\xff\n")
    assert "is not UTF-8 text" in refusal(tmp_path / "latin.yaml")
    assert "bad.yaml:2:" in refusal(write(tmp_path, "bad.yaml", "a: [1\nb: 2\n"))
    assert "not valid YAML" in refusal(write(tmp_path, "bad2.yaml", "a: 'x\n"))
    assert "not valid YAML" in refusal(write(tmp_path, "ctrl.yaml", "a: \x01\n"))


def test_tags_cannot_construct_objects(tmp_path):
    tree = read_tree(write(tmp_path, "a.yaml", "a: !!python/object/apply:os.system [echo hello]\n"))
    assert [item.value for item in tree.value["a"].value] == ["echo hello"]  # a list of text, nothing was called


def test_repeated_key_and_wrong_root(tmp_path):
    assert "a.yaml:2:1: 'b' is written twice, first at line 1" in refusal(write(tmp_path, "a.yaml", "b: 1\nb: 2\n"))
    assert "a scene file is a mapping of sections; this one is a list" in refusal(write(tmp_path, "c.yaml", "- 1\n"))
    assert read_tree(write(tmp_path, "empty.yaml", "# nothing\n")).value == {}


def test_includes_name_scene_files_by_relative_paths_alone(tmp_path):
    secret = write(tmp_path, "secret.txt", "token: abc\n")
    write(tmp_path, "b.yaml", "name: b\n")
    for name in (str(secret), "secret.txt", "../../../etc/passwd", str(tmp_path / "b.yaml"), "/dev/zero", "."):
        message = refusal(write(tmp_path, "a.yaml", f"include: {name}\n"))
        assert "must be a relative path that ends in .yaml or .yml" in message and "abc" not in message
