"""The recorder: a sink of the frame loop that loses nothing.

While recording, each frame goes into a framed log and is safe when `write` returns. Stopping hands the log to a
background thread that seals it into one HDF5 episode. See docs/recording.md for the files and the schema.
"""

from __future__ import annotations

import errno
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from app.record import folder as files
from app.record.background import Aborted, Background
from app.record.episode import Episode
from app.record.framed_log import DiskFullError, FramedLogWriter, LogError, is_disk_full
from app.record.packing import PackingError, plain
from app.record.recording import GetState, RecorderSettings, Recording
from app.record.records import FORMAT_VERSION, LABELS
from app.record.seal import Sealed, seal_log
from app.record.sets import look_over
from app.record.validate import Finding


class RecorderState(str, Enum):
    IDLE = "IDLE"
    REC = "REC"
    PAUSED = "PAUSED"  # by the operator, a lost device or a full disk; `Status.problem` or `reason` says which
    SAVING = "SAVING"  # not recording; at least one episode is being sealed


class RecorderError(Exception):
    """What was asked cannot be done now; the text is for the operator."""


@dataclass(frozen=True)
class RecorderStatus:
    """What the status bar and the record panel show."""

    state: RecorderState
    episode: str  # name of the current or the last episode, "" before the first
    label: str | None
    num_frames: int
    duration: float  # [s] simulated
    log_bytes: int
    disk_free: int  # [bytes]
    saving: int  # episodes waiting to be sealed or being sealed
    progress: float  # of the one being sealed, 0..1
    reason: str  # why it is paused
    problem: str  # "" or what went wrong and what to do


class Recorder:
    """States IDLE, REC, PAUSED, SAVING. All methods are called from the loop's thread and return quickly.

    Parameters: `folder` of the set of episodes (made when missing); `scene_name`, `scene_yaml` (the full text, so that
    an episode can be rebuilt), `options` (dataclass or dict), `versions` (name -> text; also seed, device); they are
    stored as given, so give no paths or host names. `get_state` returns the engine's complete state, a dict of arrays
    that are read before the call returns (`engine.view_state`, or `get_state`); without it there are no keyframes and
    hashes, and no replay by inputs. `layout`: names behind the rows of arrays (`app.record.layout.scene_layout`);
    exports need it.
    """

    def __init__(
        self,
        folder: str | Path,
        scene_name: str,
        scene_yaml: str = "",
        options: Any = None,
        versions: dict[str, Any] | None = None,
        get_state: GetState | None = None,
        settings: RecorderSettings | None = None,
        layout: dict[str, Any] | None = None,
        picture: Callable[[np.ndarray], bytes | None] | None = None,
    ):
        self.folder = Path(folder)
        self.settings = settings or RecorderSettings()
        self._head = {
            "format_version": FORMAT_VERSION,
            "scene_name": scene_name,
            "scene_yaml": scene_yaml,
            "options": plain(options),
            "versions": plain(versions or {}),
            "settings": plain(self.settings),
            "layout": plain(layout or {}),
        }
        self._get_state, self._picture = get_state, picture
        self._lock = threading.RLock()
        self._recordings: list[Recording] = []
        self._undo: list[tuple[Recording, str | None]] = []  # what to put back: an episode's label before
        self._messages: list[str] = []
        self._recording = False
        self._paused = ""
        self._problem = ""
        self._background = Background(self._seal, self._look_after_disk, self.settings.sync_seconds)
        self._free = (0.0, 0)

    # -- operator -----------------------------------------------------------------------------------------------

    def start(self, points: np.ndarray | None = None, time_sim: float = 0.0, instruction: str = "") -> str:
        """Begin an episode from the present state and return its name.

        `points` [m] (P, 3): positions now, row 0 of the recording. Raises RecorderError: already recording, folder
        not writable, disk nearly full.
        """
        with self._lock:
            if self._recording:
                raise RecorderError(f"{self._current.name} is being recorded; stop it first")
            free = self._disk_free(fresh=True)
            if free < self.settings.min_free_bytes:
                raise RecorderError(
                    f"only {free / 1e6:.0f} MB are free for recordings, {self.settings.min_free_bytes / 1e6:.0f} MB "
                    "are needed: free some space or choose another folder"
                )
            recording = self._create_log()
            try:
                recording.begin(self._head, points, time_sim, instruction)
            except (LogError, PackingError, TypeError) as error:
                recording.log.close()
                recording.log.path.unlink(missing_ok=True)
                raise RecorderError(f"cannot start a recording: {error}") from None
            self._recordings.append(recording)
            self._recording, self._paused, self._problem = True, "", ""
            self._background.begin()
            return recording.name

    def pause(self, reason: str = "paused by the operator") -> None:
        """Keep the episode open and take no frames."""
        with self._lock:
            if self._recording and not self._paused:
                self._paused = reason

    def resume(self) -> None:
        """Go on in the same episode, after a pause or when space was made on a full disk."""
        with self._lock:
            if self._recording and self._paused:
                self._paused, self._problem = "", ""
                self.restart_point("resumed")

    def restart_point(self, reason: str) -> None:
        """Say that the state was changed between two steps (reset, checkpoint loaded, option edited).

        To be called after the change and before the next step. Stores the exact state, so that replay by inputs
        goes on from there; a change that is not announced is noticed by the frame counter or the simulated time, and
        replay then skips one frame.
        """
        with self._lock:
            if self.state is not RecorderState.REC:
                return
            self._guarded(lambda: self._current.restart(reason))

    def stop(self, label: str | None = None) -> str | None:
        """End the episode, label it when asked, and seal it in the background. Returns its name, None when idle."""
        with self._lock:
            if not self._recording:
                return None
            recording = self._current
            try:
                recording.finish(unchanged=not self._paused)
            except (LogError, PackingError, TypeError) as error:
                self._say(f"{recording.name}: {error}; the frames before are kept")
            self._recording, self._paused = False, ""
            if label is not None:
                self.label(label)
            self._background.submit(recording)
            return recording.name

    def label(self, label: str | None) -> str | None:
        """Label the current episode, or the last one: "success", "failure", "discard" or None. Returns its name.

        "discard" stops a running recording and moves the episode to the trash, from where `undo` brings it back.
        Raises ValueError for any other label.
        """
        if label is not None and label not in LABELS:
            raise ValueError(f"label {label!r} is not one of {', '.join(LABELS)} or None")
        with self._lock:
            if not self._recordings:
                return None
            recording = self._current
            if label == "discard" and self._recording:
                self.stop()
            before = recording.label
            if label != before and self._apply_label(recording, label):
                self._undo.append((recording, before))
            return recording.name

    def undo(self) -> str | None:
        """Take back the last label or discard. Returns what was done, in words, or None when nothing is left."""
        with self._lock:
            if not self._undo:
                return None
            recording, before = self._undo[-1]
            now = recording.label
            if not self._apply_label(recording, before):
                return None
            self._undo.pop()
            if now == "discard":
                return f"{recording.name} is back from the trash"
            return f"{recording.name} is {before or 'unlabelled'} again"

    def set_instruction(self, text: str) -> None:
        """Language instruction of the current or last episode."""
        with self._lock:
            if self._recordings:
                self._current.instruction = text
                self._apply_label(self._current, self._current.label)

    def follow(self, before: Path, now: Path, label: str | None, instruction: str | None = None) -> None:
        """An episode was relabelled or moved by someone else (the browser): labels and undo go on from there."""
        with self._lock:
            for recording in self._recordings:
                if recording.path == before:
                    recording.path, recording.label = now, label
                    recording.instruction = recording.instruction if instruction is None else instruction

    def retry(self) -> int:
        """Seal again what could not be sealed (disk full, folder gone). Returns how many."""
        with self._lock:
            failed = [recording for recording in self._recordings if recording.failed]
            for recording in failed:
                recording.failed = False
                self._background.submit(recording)
            return len(failed)

    # -- loop ---------------------------------------------------------------------------------------------------

    def write(self, frame: Any) -> bool:
        """Take one Frame; True when it is stored. Never raises for a full or failing disk: it pauses and says so."""
        with self._lock:
            if not self._recording or self._paused:
                return False
            if not frame.stepped:
                self._guarded(lambda: self._current.note(frame))
                return False
            return self._guarded(lambda: self._current.write(frame))

    @property
    def state(self) -> RecorderState:
        with self._lock:
            if self._recording:
                return RecorderState.PAUSED if self._paused else RecorderState.REC
            return RecorderState.SAVING if self._background.pending else RecorderState.IDLE

    def status(self) -> RecorderStatus:
        with self._lock:
            recording = self._recordings[-1] if self._recordings else None
            return RecorderStatus(
                state=self.state,
                episode=recording.name if recording else "",
                label=recording.label if recording else None,
                num_frames=recording.rows if recording else 0,
                duration=recording.duration if recording else 0.0,
                log_bytes=recording.log.size if recording else 0,
                disk_free=self._disk_free(),
                saving=self._background.pending,
                progress=self._background.progress,
                reason=self._paused,
                problem=self._problem,
            )

    def poll_messages(self) -> tuple[str, ...]:
        """What happened since the last call, for the event list and the log."""
        with self._lock:
            messages, self._messages = tuple(self._messages), []
            return messages

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until everything is sealed; True when it is so, False after `timeout` [s]."""
        return self._background.wait(timeout)

    def close(self) -> None:
        """Stop, wait for sealing, end the thread. Ctrl+C while waiting gives up the sealing, not the recording: its
        log stays and is sealed at the next start. May be called again."""
        try:
            self.stop()
            self.wait()
        finally:
            self._background.end()
            with self._lock:
                for recording in self._recordings:
                    if not recording.log.closed:  # lets go of its lock, so that recovery may seal it
                        recording.log.close()
                        recording.failed = True

    # -- inside -------------------------------------------------------------------------------------------------

    @property
    def _current(self) -> Recording:
        return self._recordings[-1]

    def _create_log(self) -> Recording:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            while True:
                name = files.episode_name(files.next_number(self.folder))
                try:
                    log = FramedLogWriter(self.folder / f"{name}.log", self.settings.codec)
                    return Recording(name, log, self._get_state, self.settings)
                except FileExistsError:
                    continue  # another process took the number
        except (OSError, LogError) as error:
            text = getattr(error, "strerror", None) or error
            raise RecorderError(f"cannot record into the folder {self.folder.name!r}: {text}") from None

    def _guarded(self, write: Callable[[], Any]) -> bool:
        """Run a write; what the disk refuses pauses the recording with a message."""
        try:
            write()
            return True
        except DiskFullError:
            self._pause_for("the disk is full", full=True)
        except (LogError, PackingError, TypeError, ValueError) as error:
            self._pause_for(str(error))
        return False

    def _pause_for(self, why: str, full: bool = False) -> None:
        recording, self._paused = self._current, why
        kept = f"{recording.rows} frames ({recording.duration:.1f} s) of {recording.name} are kept."
        hint = "Free some space and resume, or stop to save." if full else "Stop to save them."
        self._problem = f"Recording paused: {why}. {kept} {hint}"
        self._say(self._problem)

    def _apply_label(self, recording: Recording, label: str | None) -> bool:
        try:
            if recording.path is not None:
                recording.path = files.relabel(recording.path, label, recording.instruction)
            elif not recording.log.closed:
                recording.store_label(label)
        except (OSError, LogError) as error:
            self._say(f"{recording.name}: the label could not be stored ({error})")
            if recording.path is not None:
                return False
        recording.label = label
        return True

    def _say(self, text: str) -> None:
        self._messages.append(text)

    def _disk_free(self, fresh: bool = False) -> int:
        now = time.monotonic()
        if fresh or now - self._free[0] > 1.0:
            place = self.folder
            while not place.exists() and place != place.parent:
                place = place.parent
            try:
                self._free = (now, shutil.disk_usage(place).free)
            except OSError:
                self._free = (now, 0)
        return self._free[1]

    # -- called by the background thread ------------------------------------------------------------------------

    def _look_after_disk(self) -> None:
        with self._lock:
            if self.state is not RecorderState.REC:
                return
            recording = self._current
            free = self._disk_free(fresh=True)
            if free < self.settings.min_free_bytes + recording.log.size:
                self._pause_for(f"only {free / 1e6:.0f} MB are free, and saving needs some", full=True)
        try:
            recording.log.sync()
        except OSError as error:
            with self._lock:
                self._say(f"{recording.name}: the disk reports {error.strerror}")

    def _seal(self, recording: Recording, progress: Callable[[float], None]) -> None:
        with self._lock:
            until = recording.log.size
        try:
            if self._disk_free(fresh=True) < until:
                raise OSError(errno.ENOSPC, "no space left")
            sealed = seal_log(recording.log.path, until, progress=progress)
            findings = look_over(sealed.path, lambda: progress(1.0)) if sealed.path is not None else []
            self._paint(sealed)
            with self._lock:
                self._finish(recording, sealed, findings)
        except Aborted:
            recording.failed = True
        except Exception as error:  # whatever it is, the log is whole and the operator must hear of it
            why = "the disk is full" if is_disk_full(error) else f"{type(error).__name__}: {error}"
            with self._lock:
                recording.failed = True
                self._problem = (
                    f"{recording.name} could not be saved: {why}. Its recording is kept as {recording.name}.log "
                    "and will be saved at the next start, or when you retry."
                )
                self._say(self._problem)

    def _paint(self, sealed: Sealed) -> None:
        """A picture of the last state beside the episode; a courtesy, which lists make again where it is missing."""
        if self._picture is None or sealed.path is None:
            return
        try:
            with Episode(sealed.path) as episode:
                png = self._picture(episode.positions(episode.num_frames)) if episode.num_points else None
            if png is not None:
                files.write_picture(sealed.path, png)
        except Exception as error:  # noqa: BLE001 - the episode is whole without it
            with self._lock:
                self._say(f"{sealed.path.name}: no picture ({type(error).__name__}: {error})")

    def _finish(self, recording: Recording, sealed: Sealed, findings: list[Finding]) -> None:
        if sealed.path is None:
            self._say(f"{recording.name}: nothing was recorded")
        else:
            recording.path = sealed.path
            if recording.label == "discard" or (recording.label, recording.instruction) != (
                sealed.meta["label"],
                sealed.meta["instruction"],
            ):  # labelled while it was sealed
                recording.path = files.relabel(sealed.path, recording.label, recording.instruction)
            self._say(f"{recording.name} saved: {sealed.num_frames} frames")
            for finding in findings:
                if finding.severity != "note":
                    self._say(f"{recording.name}: {finding.severity}: {finding.text}")
        recording.log.close()
        recording.log.path.unlink(missing_ok=True)
