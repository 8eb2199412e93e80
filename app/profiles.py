"""What the application remembers of each device: gain, frame, lock, and the settings that the device screen changes."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from devices.mapping import AXIS_LOCKS, FRAMES
from devices.mapping_settings import MappingSettings

# settings that belong to the operator's hand and table, not to the device's maker
KEPT = (
    "axes", "deadband", "expo", "centre", "span", "clutch_mode", "gripper_mode", "linear_speed", "angular_speed",
    "pose_scale",
)  # fmt: skip
_FLAT = ("gain_index", "frame", "axis_lock")  # what files of before profiles by device held


def device_key(description: dict[str, Any]) -> str:
    """Name under which a device is remembered: its name, with the model or the side where it has one."""
    detail = description.get("side") or description.get("product") or ""
    name = str(description.get("name", "device"))
    return f"{name}/{detail}" if detail else name


def profile_of(table: dict[str, Any], key: str) -> dict[str, Any]:
    """The profile of a device, {} when it has none. An old table without devices counts for all of them."""
    own = table.get(key)
    if isinstance(own, dict):
        return own
    return {name: table[name] for name in _FLAT if name in table and not isinstance(table[name], dict)}


def with_profile(settings: MappingSettings, profile: dict[str, Any]) -> MappingSettings:
    """Settings with a profile's put in; a value that is not legal (a file edited by hand) is left out."""
    kept = profile.get("mapping")
    for name, value in (kept.items() if isinstance(kept, dict) else ()):
        if name not in KEPT:
            continue
        try:
            settings = settings.with_advice({name: tuple(value) if isinstance(value, list) else value})
        except (ValueError, TypeError):
            continue
    return settings


def changed_settings(settings: MappingSettings, advised: MappingSettings) -> dict[str, Any]:
    """What differs from the device's advice, as YAML holds it."""
    now, then = asdict(settings), asdict(advised)
    return {
        f.name: list(now[f.name]) if isinstance(now[f.name], tuple) else now[f.name]
        for f in fields(settings)
        if f.name in KEPT and now[f.name] != then[f.name]
    }


def legal_gain(profile: dict[str, Any], settings: MappingSettings) -> int | None:
    index = profile.get("gain_index")
    fits = isinstance(index, int) and not isinstance(index, bool) and 0 <= index < len(settings.gains)
    return index if fits else None


def legal_choice(profile: dict[str, Any], name: str) -> str | None:
    legal = {"frame": FRAMES, "axis_lock": AXIS_LOCKS}[name]
    return profile[name] if profile.get(name) in legal else None
