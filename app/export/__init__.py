"""Episodes for training and looking: robomimic HDF5, LeRobot, MCAP, MP4, CSV. See docs/exports.md."""

from app.export.demonstrations import Demonstration, demonstrations
from app.export.options import FORMATS, ExportError, ExportOptions
from app.export.run import Exported, export
from app.export.waypoints import Chunk, Waypoints, chunks, waypoints

__all__ = [
    "FORMATS",
    "Chunk",
    "Demonstration",
    "ExportError",
    "ExportOptions",
    "Exported",
    "Waypoints",
    "chunks",
    "demonstrations",
    "export",
    "waypoints",
]
