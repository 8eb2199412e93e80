"""Settings are remembered, and a broken file never stops a start."""

import pytest

from app.settings import Settings, config_dir


def test_what_is_saved_is_loaded(tmp_path):
    path = tmp_path / "deep" / "settings.yaml"
    settings = Settings(ui_scale=1.5, collapsed=["solver"], color_mode="strain", profile={"gain_index": 2})
    settings.scales["depth"] = 2e-3
    settings.save(path)
    loaded = Settings.load(path)
    assert loaded == settings and not loaded.warnings
    assert not list(path.parent.glob("*.tmp"))


def test_a_missing_file_gives_the_defaults(tmp_path):
    assert Settings.load(tmp_path / "none.yaml") == Settings()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ui_scale: huge", "ui_scale: 'huge' is a str, expected a float"),
        ("ui_scale: 9", "legal: 0 (automatic) or 0.5 to 4"),
        ("color_mode: pretty", "'pretty'; legal values: material, tape, adhesion, strain, force, depth"),
        ("scales: {depth: -1}", "depth must be greater than 0"),
        ("[1, 2", "could not be read"),
        ("- 1", "is not a table of settings"),
    ],
)
def test_a_broken_value_is_named_and_replaced(tmp_path, text, said):
    path = tmp_path / "settings.yaml"
    path.write_text(text)
    settings = Settings.load(path)
    assert said in settings.warnings[0] and str(path) in settings.warnings[0]
    assert (settings.ui_scale, settings.color_mode, settings.scales["depth"]) == (0.0, "material", 1e-3)


def test_scales_that_are_not_named_keep_their_default(tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text("scales: {depth: 2e-3}")
    assert Settings.load(path).scales == {**Settings().scales, "depth": 2e-3}


def test_keys_of_a_newer_version_survive(tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text("hologram: true\nui_scale: 2\n")
    settings = Settings.load(path)
    settings.save(path)
    assert "hologram: true" in path.read_text() and settings.ui_scale == 2.0


def test_the_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("TACKTILE_CONFIG_DIR", str(tmp_path))
    assert config_dir() == tmp_path
