"""Recording demonstrations: a crash-proof log while they run, one HDF5 file an episode afterwards."""

from app.record.episode import Episode, EpisodeError, UnknownColumn
from app.record.listing import EpisodeInfo, list_episodes
from app.record.recorder import Recorder, RecorderError, RecorderState, RecorderStatus
from app.record.recording import RecorderSettings
from app.record.recovery import Recovered, recover
from app.record.sets import (
    Merged,
    SetError,
    SetStatistics,
    discard,
    merge,
    restore,
    set_statistics,
    trim,
    trim_idle,
    undo_discard,
)
from app.record.state_hash import state_hash
from app.record.validate import Finding

__all__ = [
    "Episode",
    "EpisodeError",
    "EpisodeInfo",
    "Finding",
    "Merged",
    "Recorder",
    "RecorderError",
    "RecorderSettings",
    "RecorderState",
    "RecorderStatus",
    "Recovered",
    "SetError",
    "SetStatistics",
    "UnknownColumn",
    "discard",
    "list_episodes",
    "merge",
    "recover",
    "restore",
    "set_statistics",
    "state_hash",
    "trim",
    "trim_idle",
    "undo_discard",
]
