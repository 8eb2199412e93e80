"""Recording demonstrations: a crash-proof log while they run, one HDF5 file an episode afterwards."""

from app.record.episode import Episode, EpisodeError, UnknownColumn
from app.record.listing import EpisodeInfo, list_episodes
from app.record.recorder import Recorder, RecorderError, RecorderState, RecorderStatus
from app.record.recording import RecorderSettings
from app.record.recovery import Recovered, recover
from app.record.state_hash import state_hash
from app.record.validate import Finding

__all__ = [
    "Episode",
    "EpisodeError",
    "EpisodeInfo",
    "Finding",
    "Recorder",
    "RecorderError",
    "RecorderSettings",
    "RecorderState",
    "RecorderStatus",
    "Recovered",
    "UnknownColumn",
    "list_episodes",
    "recover",
    "state_hash",
]
