"""What the application remembers between runs: one YAML file in the user's configuration folder."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

import yaml

from devices.document import load_plain

COLOR_MODES = ("material", "tape", "adhesion", "strain", "force", "depth")
QUALITIES = ("auto", "high", "medium", "low")


def config_dir() -> Path:
    """Folder of the settings: TACKTILE_CONFIG_DIR, else the platform's own place for them."""
    override = os.environ.get("TACKTILE_CONFIG_DIR")
    if override:
        return Path(override)
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", Path.home() / "AppData" / "Roaming")) / "tacktile"
    return Path(os.environ.get("XDG_CONFIG_HOME", Path.home() / ".config")) / "tacktile"


def data_dir() -> Path:
    """Folder of episodes, checkpoints and pictures: TACKTILE_DATA_DIR, else the platform's own place for data."""
    override = os.environ.get("TACKTILE_DATA_DIR")
    if override:
        return Path(override)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "tacktile"
    return Path(os.environ.get("XDG_DATA_HOME", Path.home() / ".local" / "share")) / "tacktile"


def _number(value) -> float:
    """A number, also one that YAML reads as text (2e-3 has no dot); not a number for anything else."""
    try:
        return float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return float("nan")


def _default_scales() -> dict[str, float]:
    return {"strain": 0.01, "force": 0.05, "depth": 0.001, "flow": 5.0, "trace": 5.0, "adhesion": 1.0}


@dataclass
class Settings:
    """Remembered choices. Unknown keys of a newer file are kept, broken values fall back with a warning.

    Attributes:
        ui_scale: 0 = from the window's size.
        collapsed: panels reduced to their title.
        color_mode: one of COLOR_MODES.
        scales: upper ends of the locked colour and trace scales: strain [-], force [N a point], depth [m], marker flow
            [pixel], trace [N], adhesion [-].
        quality: one of QUALITIES.
        overlay_seen: the first-start page was closed once.
    """

    window_width: int = 1280  # fits a laptop; remembered once it was changed
    window_height: int = 720
    ui_scale: float = 0.0
    collapsed: list[str] = field(default_factory=list)
    color_mode: str = "material"
    scales: dict[str, float] = field(default_factory=_default_scales)
    quality: str = "auto"
    overlay_seen: bool = False
    last_scene: str = ""
    profile: dict = field(default_factory=dict)  # teleop profile: gain, frame, axis_lock
    bookmarks: dict = field(default_factory=dict)  # scene -> name -> [eye, target]
    warnings: list[str] = field(default_factory=list, repr=False)
    unknown: dict = field(default_factory=dict, repr=False)

    @classmethod
    def load(cls, path: Path | None = None) -> Settings:
        """Reads the file; a missing one gives the defaults, a broken one the defaults and a warning, never an error."""
        path = path or config_dir() / "settings.yaml"
        settings = cls()
        try:
            raw = load_plain(path)
        except FileNotFoundError:
            return settings
        except (OSError, ValueError) as error:
            settings.warnings.append(f"{path} could not be read ({error}); defaults are used")
            return settings
        if not isinstance(raw, dict):
            settings.warnings.append(f"{path} is not a table of settings; defaults are used")
            return settings
        known = {f.name for f in fields(cls)} - {"warnings", "unknown"}
        for key, value in raw.items():
            if key not in known:
                settings.unknown[key] = value
                continue
            problem = settings._accept(key, value)
            if problem:
                settings.warnings.append(f"{path}: {key}: {problem}; the default is used")
        return settings

    def _accept(self, key: str, value) -> str:
        """Takes one value when it is legal; otherwise says what is wrong."""
        default = getattr(type(self)(), key)
        if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value) is not type(default):
            return f"{value!r} is a {type(value).__name__}, expected a {type(default).__name__}"
        legal = {"color_mode": COLOR_MODES, "quality": QUALITIES}.get(key)
        if legal and value not in legal:
            return f"{value!r}; legal values: {', '.join(legal)}"
        if key == "ui_scale" and not (value == 0.0 or 0.5 <= value <= 4.0):
            return f"{value!r}; legal: 0 (automatic) or 0.5 to 4"
        if key == "scales":
            value = {k: _number(v) for k, v in value.items()}
            bad = [k for k, v in value.items() if not v > 0]
            if bad:
                return f"{', '.join(map(str, bad))} must be greater than 0"
            value = _default_scales() | {k: float(v) for k, v in value.items()}
        setattr(self, key, value)
        return ""

    def save(self, path: Path | None = None) -> None:
        """Writes the file atomically; a folder that cannot be written is reported by OSError."""
        path = path or config_dir() / "settings.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        table = {k: v for k, v in asdict(self).items() if k not in ("warnings", "unknown")} | self.unknown
        temporary = path.with_suffix(".yaml.tmp")
        temporary.write_text(
            "# Tacktile settings; written when the window closes\n" + yaml.safe_dump(table), encoding="utf-8"
        )
        os.replace(temporary, path)
