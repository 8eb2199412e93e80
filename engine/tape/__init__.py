"""Tape rolls: winding, assets, adding one to a scene. Settling needs an engine: `engine.settling`."""

from engine.tape.asset import RollAsset, SettleRecord, load_roll, save_roll
from engine.tape.placing import add_roll, core_name
from engine.tape.presets import PRESETS, preset, shipped_roll
from engine.tape.winding import RollSpec, wind_roll

__all__ = [
    "PRESETS", "RollAsset", "RollSpec", "SettleRecord", "add_roll", "core_name", "load_roll", "preset", "save_roll",
    "shipped_roll", "wind_roll",
]  # fmt: skip
