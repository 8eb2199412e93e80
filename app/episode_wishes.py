"""What the browser of episodes asks for, between steps: other sets, labels, trims, the trash, a replay.

Part of `FrameLoop`, as `app.wishes` is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app.episode_shelf import EpisodeShelf, ShelfView


class EpisodeWishes:
    """Mixin of `app.loop.FrameLoop`: `_do_VERB(value)` carries out `Request(VERB, value)`."""

    _shelf: EpisodeShelf | None = None
    _browsing = False
    _paused_to_browse = False

    def episodes_info(self) -> ShelfView | None:
        """For the view; None while the browser is closed."""
        return self._shelf.view if self._browsing and self._shelf is not None else None

    def _do_browse(self, value) -> None:
        """{"open": bool} opens and closes; {"folder": set or None for all, "trash": bool} shows another set. The scene
        stands still meanwhile: its keys and those of the browser are the same."""
        value = value or {"open": not self._browsing}
        if value.get("open") is False:
            self._browsing = False
            if self._paused_to_browse:
                self._paused_to_browse = False
                self._resume()
            return
        if not self._browsing:
            self._browsing = True
            self._paused_to_browse = not self.paused
            if not self.paused:
                self._pause()
        if self._shelf is None:
            self._shelf = EpisodeShelf(self._sets_root(), self._paint_episode, self._follow_episode)
            self._shelf.open(Path(self.wiring.recorder.folder) if self.wiring.recorder is not None else None)
        elif "folder" in value or "trash" in value:
            folder = value.get("folder")
            self._shelf.open(None if folder is None else Path(folder), bool(value.get("trash")))
        else:
            self._shelf.refresh()

    def _do_episode(self, value) -> None:
        """{"path", "do": "label" | "discard" | "restore" | "instruct" | "trim" | "trim_idle", ...}"""
        shelf, path, do = self._need_shelf(), Path(value["path"]), value["do"]
        if do == "label":
            shelf.label(path, value["label"])
        elif do == "instruct":
            shelf.instruct(path, str(value["text"]))
        elif do == "trim":
            shelf.trim(path, float(value["start"]), float(value["end"]))
        elif do in ("discard", "restore", "trim_idle"):
            getattr(shelf, do)(path)
        else:
            raise ValueError(f"{do!r}; legal: label, discard, restore, instruct, trim, trim_idle")

    def _do_episodes_undo(self, value) -> None:
        self._need_shelf().undo()

    def _do_use_set(self, value) -> None:
        """{"folder", "scene"}: new episodes go there; `scene`, when given, is loaded first."""
        if self.wiring.make_recorder is None:
            raise RuntimeError("this run cannot change where it records")
        if value.get("scene"):
            self._do_load_scene(value["scene"])
            if self.session.scene.name != value["scene"]:
                return  # told by what failed
        old = self.wiring.recorder
        if old is not None and old.state.value in ("REC", "PAUSED"):
            raise RuntimeError("stop the recording first")
        folder = Path(value["folder"])
        self.wiring.recorder = self.wiring.make_recorder(self.session, folder=folder)
        if old is not None:
            old.close()
        self._say(f"new episodes go into {folder.name}")
        if self._shelf is not None:
            self._shelf.open(folder)

    def _do_replay(self, value) -> None:
        """{"path"}: the episode in this window; the scene waits as it is, and is back afterwards."""
        recorder = self.wiring.recorder
        if recorder is not None and recorder.state.value in ("REC", "PAUSED"):
            raise RuntimeError("stop the recording first; it would wait all the while")
        if self.wiring.replay is None:
            raise RuntimeError("this run cannot replay")
        self._browsing = False
        try:
            self.wiring.replay(Path(value["path"]), self)
        finally:
            self.view.set_scene(self.session.scene, self.session.engine.positions())
            if self.session.model.meshes is not self.session.scene.model.meshes:
                self.view.set_model(self.session.model, self.session.engine.positions())
            self._due = 0.0
            self.operator.hold_until_rest()
        self._browsing = True
        self._need_shelf().refresh()

    def _need_shelf(self) -> EpisodeShelf:
        if self._shelf is None:
            raise RuntimeError("the browser is closed")
        return self._shelf

    def _sets_root(self) -> Path:
        """Folder of the sets: where the application keeps one a scene."""
        from app.settings import data_dir

        return data_dir() / "episodes"

    def _paint_episode(self, scene: str, points: Any) -> bytes | None:
        """Pictures of older episodes of the scene that is loaded; called by the shelf's thread."""
        if scene != self.session.scene.name:
            return None
        from app.thumbnail import session_painter

        return session_painter(self.session)(points)

    def _follow_episode(self, before: Path, now: Path, label: str | None, instruction: str | None) -> None:
        recorder = self.wiring.recorder
        if recorder is not None and hasattr(recorder, "follow"):
            recorder.follow(before, now, label, instruction)

    def _close_episodes(self) -> None:
        if self._shelf is not None:
            self._shelf.close()
