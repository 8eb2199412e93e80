"""MP4 files whose frames stand at simulated times."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np

from app.export.options import ExportError, need

_KEY_EVERY = 2  # frames between key frames: trainers read single frames in any order
_QUALITY = "18"  # constant rate factor of x264: no difference to be seen
_TICKS = 90_000  # [1/s] of the clock in the file


def rate(fps: float) -> Fraction:
    """Frames a second as the ratio that video files hold: 30, 30000/1001, 62.5 = 125/2."""
    return Fraction(fps).limit_denominator(1001)


class VideoWriter:
    """Appends frames (h, w, 3) uint8 to one file; frame k stands at k / fps. H.264, yuv420p, which every player reads.

    Odd sizes are made even by repeating the last row or column. Use as a context manager. Raises ExportError: the
    package av is missing, or frames change their size.
    """

    def __init__(self, path: Path, fps: Fraction):
        self._av = need("av")
        self._container = self._av.open(str(path), mode="w", format="mp4")
        self._fps, self._stream, self._size = fps, None, (0, 0)
        self.count = 0

    def __enter__(self) -> VideoWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Writes what the encoder still holds. To be called once."""
        if self._stream is not None:
            for packet in self._stream.encode():
                self._container.mux(packet)
        self._container.close()

    @property
    def shape(self) -> tuple[int, int, int]:
        """(h, w, 3) of the frames in the file."""
        return (*self._size, 3)

    def append(self, image: np.ndarray) -> None:
        image = _even(image)
        if self._stream is None:
            self._begin(image.shape[:2])
        if image.shape[:2] != self._size:
            raise ExportError(f"frame {self.count} is {image.shape[:2]}, the video began with {self._size}")
        frame = self._av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24")
        frame.time_base = Fraction(1, self._fps.numerator)
        frame.pts = self.count * self._fps.denominator
        for packet in self._stream.encode(frame):
            self._container.mux(packet)
        self.count += 1

    def _begin(self, size: tuple[int, int]) -> None:
        self._size = size
        self._stream = self._container.add_stream("libx264", rate=self._fps)
        self._stream.height, self._stream.width = size
        self._stream.pix_fmt = "yuv420p"
        self._stream.codec_context.time_base = Fraction(1, self._fps.numerator)
        self._stream.options = {"crf": _QUALITY, "g": str(_KEY_EVERY), "preset": "veryfast", "bf": "0"}


def check_video(path: Path, count: int, fps: Fraction) -> np.ndarray:
    """Times of all frames [s], decoded one by one. Raises ExportError when they are not `count` times k / fps."""
    av = need("av")
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        times = np.array([float(frame.pts * stream.time_base) for frame in container.decode(stream)])
    if len(times) != count:
        raise ExportError(f"{path.name} holds {len(times)} frames, {count} were written")
    wrong = np.abs(times - np.arange(count) / float(fps)) > 1.0 / _TICKS
    if wrong.any():
        k = int(np.argmax(wrong))
        raise ExportError(f"{path.name}: frame {k} stands at {times[k]:.6f} s, expected {k / float(fps):.6f} s")
    return times


def _even(image: np.ndarray) -> np.ndarray:
    h, w = image.shape[:2]
    return np.pad(image, ((0, h % 2), (0, w % 2), (0, 0)), mode="edge") if h % 2 or w % 2 else image
