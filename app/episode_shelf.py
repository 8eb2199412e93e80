"""The sets of episodes as a browser sees them: read, and changed, in a thread of its own, so that no frame waits for a
disk. The thread publishes one frozen `ShelfView` after another; whoever draws takes the latest."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.episode_rows import EpisodeRow, Paint, read_folder, read_row
from app.record import Episode, EpisodeError
from app.record import folder as files
from app.record.listing import list_episodes
from app.record.sets import SetError, discard, restore, trim, trim_idle

IDLE = 0.5  # [s] between looks for the end


@dataclass(frozen=True)
class ShelfView:
    """What is shown now."""

    folder: Path | None = None  # the set; None: all sets
    trash: bool = False
    sets: tuple[tuple[str, Path, int], ...] = ()  # name, folder, episodes in it
    rows: tuple[EpisodeRow, ...] = ()  # the newest first
    thrown: int = 0  # episodes in the trash of what is shown
    busy: str = ""  # what is being read, "" = all is there
    done: float = 0.0  # share of it
    said: str = ""  # what happened last, or what could not be done
    failed: bool = False  # `said` is a problem
    undo: str = ""  # what an undo would take back


class _Ended(Exception):
    pass


class EpisodeShelf:
    """All methods return at once; what they ask for shows in `view` later.

    Args: root: folder of sets. paint: pictures of episodes that have none. follow: told (path before, path now, label,
    instruction) when an episode was relabelled or moved, so that a recorder that knows it goes along.
    """

    def __init__(
        self, root: Path, paint: Paint | None = None,
        follow: Callable[[Path, Path, str | None, str | None], None] = lambda before, now, label, instruction: None,
    ):  # fmt: skip
        self.view = ShelfView()
        self._root, self._paint, self._follow = root, paint, follow
        self._extra: list[Path] = []  # sets outside of the root
        self._jobs: queue.Queue[Callable[[], None]] = queue.Queue()
        self._undo: list[tuple[str, Callable[[], None]]] = []
        self._thread: threading.Thread | None = None
        self._newest = 0  # number of the last reading that was asked for
        self._end = False

    # -- asked by the loop

    def open(self, folder: Path | None, trash: bool = False) -> None:
        """Show another set, or all (None); reads it."""
        if folder is not None and folder not in self._extra and folder.parent != self._root:
            self._extra.append(folder)
        rows = self.view.rows if (folder, trash) == (self.view.folder, self.view.trash) else ()
        self.view = replace(self.view, folder=folder, trash=trash, rows=rows, busy="reading", done=0.0)
        self.refresh()

    def refresh(self) -> None:
        """Read what is shown anew; a reading that is under way is given up."""
        self._newest += 1
        number = self._newest
        self._submit(lambda: self._read(number))

    def label(self, path: Path, label: str | None) -> None:
        """success, failure or None. Raises ValueError for any other."""
        if label not in ("success", "failure", None):
            raise ValueError(f"label {label!r}; legal: success, failure, None")
        self._submit(lambda: self._relabel(path, label))

    def discard(self, path: Path) -> None:
        self._submit(lambda: self._discard(path))

    def restore(self, path: Path) -> None:
        """From the trash."""
        self._submit(lambda: self._restore(path))

    def instruct(self, path: Path, text: str) -> None:
        self._submit(lambda: self._instruct(path, text))

    def trim(self, path: Path, start: float, end: float) -> None:
        """Keep a stretch [s] of simulated time since the begin; exports leave the rest out, nothing is destroyed."""
        self._submit(lambda: self._trim(path, lambda: trim(path, start, end)))

    def trim_idle(self, path: Path) -> None:
        self._submit(lambda: self._trim(path, lambda: trim_idle(path)))

    def undo(self) -> None:
        """Take back the last change that was made here."""
        self._submit(self._take_back)

    def close(self) -> None:
        self._end = True
        self._newest += 1
        if self._thread is not None:
            self._thread.join(5.0)

    # -- in the thread

    def _submit(self, job: Callable[[], None]) -> None:
        self._jobs.put(job)
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._work, name="episodes", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while not self._end:
            try:
                job = self._jobs.get(timeout=IDLE)
            except queue.Empty:
                continue
            try:
                job()
            except _Ended:
                pass
            except (SetError, EpisodeError, OSError, ValueError) as error:
                self.view = replace(self.view, said=str(error), failed=True, busy="")

    def _read(self, number: int) -> None:
        view, sets = self.view, self._sets()
        folders = [folder for _, folder, _ in sets] if view.folder is None else [view.folder]
        rows: list[EpisodeRow] = []
        thrown = sum(len(files.scan(folder / files.TRASH, ".h5")) for folder in folders)
        self.view = replace(self.view, sets=sets, thrown=thrown, busy="reading", done=0.0)
        for place, folder in enumerate(folders):

            def tick(done: int, count: int, place: int = place, folder: Path = folder) -> None:
                if number != self._newest:
                    raise _Ended
                share = (place + done / max(count, 1)) / len(folders)
                text = f"reading {folder.name}: {done} of {count}"
                self.view = replace(self.view, busy=text, done=share)

            rows += read_folder(folder, view.trash, self._paint, tick)
        if number == self._newest:
            self.view = replace(self.view, rows=tuple(rows), busy="", done=1.0)

    def _sets(self) -> tuple[tuple[str, Path, int], ...]:
        """Folders that hold episodes, in order of name; those outside of the root first."""
        inside = sorted(path for path in self._root.iterdir() if path.is_dir()) if self._root.is_dir() else []
        found = []
        for folder in [*self._extra, *inside]:
            count = len(files.scan(folder, ".h5"))
            if count or folder in self._extra or files.scan(folder / files.TRASH, ".h5"):
                found.append((folder.name, folder, count))
        return tuple(found)

    def _said(self, text: str, back: Callable[[], None] | None = None) -> None:
        if back is not None:
            self._undo.append((text, back))
        self.view = replace(self.view, said=text, failed=False, undo=self._undo[-1][0] if self._undo else "")

    def _take_back(self) -> None:
        if not self._undo:
            self._said("there is nothing to undo here")
            return
        text, back = self._undo.pop()
        back()
        self._said(f"taken back: {text}")

    def _show_again(self, before: Path, now: Path) -> None:
        """One line is read anew, or leaves the list when its episode went elsewhere."""
        view = self.view
        in_trash = now.parent.name == files.TRASH
        rows = [row for row in view.rows if row.path not in (before, now)]
        at = next((k for k, row in enumerate(view.rows) if row.path == before), None)
        shown = [one[1] for one in view.sets] if view.folder is None else [view.folder]
        home = now.parent.parent if in_trash else now.parent
        if in_trash == view.trash and home in shown:
            info = next(info for info in list_episodes(home, in_trash) if info.path == now)
            row = read_row(info)
            if at is None:  # it came back: to its place by number, the newest first
                later = [k for k, other in enumerate(rows) if (other.set_name, other.name) < (row.set_name, row.name)]
                at = next((k for k in later if rows[k].set_name == row.set_name), len(rows))
            rows.insert(at, row)
        thrown = sum(len(files.scan(folder / files.TRASH, ".h5")) for folder in shown)
        counts = tuple((name, folder, len(files.scan(folder, ".h5"))) for name, folder, _ in view.sets)
        self.view = replace(view, rows=tuple(rows), thrown=thrown, sets=counts)

    def _relabel(self, path: Path, label: str | None) -> None:
        before = (files.read_meta(path) or {}).get("label")
        now = self._store(path, label)
        self._said(f"{_name(path)}: {label or 'no label'}", lambda: self._store(now, before) and None)

    def _store(self, path: Path, label: str | None, instruction: str | None = None) -> Path:
        now = files.relabel(path, label, instruction)
        self._follow(path, now, label, instruction)
        self._show_again(path, now)
        return now

    def _discard(self, path: Path) -> None:
        now = discard(path)
        self._follow(path, now, "discard", None)
        self._show_again(path, now)
        self._said(f"{_name(path)} is in the trash", lambda: self._bring_back(now))

    def _bring_back(self, path: Path) -> None:
        now = restore(path)
        self._follow(path, now, (files.read_meta(now) or {}).get("label"), None)
        self._show_again(path, now)

    def _restore(self, path: Path) -> None:
        now = path.parent.parent / path.name
        self._bring_back(path)
        self._said(f"{_name(path)} is back", lambda: self._discard_again(now))

    def _discard_again(self, path: Path) -> None:
        now = discard(path)
        self._follow(path, now, "discard", None)
        self._show_again(path, now)

    def _instruct(self, path: Path, text: str) -> None:
        meta = _meta(path)
        before = str(meta.get("instruction") or "")
        if text == before:
            return
        self._store(path, meta.get("label"), text)
        self._said(
            f"{_name(path)}: instruction changed",
            lambda: self._store(path, (files.read_meta(path) or {}).get("label"), before) and None,
        )

    def _trim(self, path: Path, make: Callable[[], Any]) -> None:
        before = _meta(path).get("trim")
        make()
        self._show_again(path, path)
        self._said(f"{_name(path)} trimmed", lambda: self._trim_back(path, before))

    def _trim_back(self, path: Path, before: Any) -> None:
        meta = _meta(path)
        meta.pop("trim", None)
        files.write_meta(path, meta | ({} if before is None else {"trim": before}))
        self._show_again(path, path)


def _meta(path: Path) -> dict[str, Any]:
    """As the meta file says, or the copy in the episode. Raises EpisodeError, FileNotFoundError."""
    meta = files.read_meta(path)
    if meta is None:
        with Episode(path) as episode:
            meta = dict(episode.meta)
    return meta


def _name(path: Path) -> str:
    return path.name.split(".")[0]
