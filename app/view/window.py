"""The window: Polyscope set up once, ticked by the loop, drawing the last Frame and collecting wishes."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from dataclasses import replace
from pathlib import Path

import numpy as np
import polyscope as ps
import polyscope.imgui as psim

from app.frame import Frame, Request
from app.settings import Settings
from app.view import palette, theme
from app.view.episode_pictures import EpisodePictures
from app.view.ghost import Ghost
from app.view.images import PadImages
from app.view.keys import Feed, KeyReader, help_texts
from app.view.layout import Rect, compute_layout
from app.view.materials import load_materials
from app.view.outline import Outline
from app.view.panels import (
    devices,
    episodes,
    overlay,
    pad_large,
    record,
    replay,
    scene_picker,
    solver,
    status_bar,
    tactile,
    tape,
    task,
    teleop,
    timeline,
    view_bar,
)
from app.view.quality import Quality
from app.view.state import ViewState
from app.view.structures import Structures
from devices.rotations import camera_rotation, matrix_from_quat, quat_from_vector

REDRAW = 1.0 / 30.0  # [s] between redraws while a step is running
SHARE = 1.0  # steps are given at least this many times the cost of a redraw before the next one
PLAIN_PANELS = {"task": task, "teleop": teleop, "record": record, "tape": tape, "solver": solver, "replay": replay}
FIELD_OF_VIEW = 38.0  # [deg] vertical: long enough that boxes look like boxes


def set_up(headless: bool, size: tuple[int, int], title: str = "Tacktile") -> None:
    """Polyscope's global switches; the order matters, most must come before init."""
    ps.set_allow_headless_backends(headless)
    ps.set_use_prefs_file(False)
    ps.set_program_name(title)
    ps.set_verbosity(0)
    ps.set_errors_throw_exceptions(True)
    ps.set_warn_for_invalid_values(False)
    ps.set_display_message_popups(False)
    ps.set_window_size(*size)
    ps.set_window_resizable(True)
    ps.set_enable_vsync(False)
    ps.set_max_fps(-1)
    ps.set_frame_tick_limit_fps_mode("ignore_limits")  # the default mode skips callbacks
    ps.set_build_default_gui_panels(False)
    ps.set_open_imgui_window_for_user_callback(False)
    ps.init("openGL3_egl" if headless else "openGL3_glfw")
    ps.set_up_dir("z_up")
    ps.set_front_dir("y_front")
    ps.set_navigation_style("turntable")
    ps.set_background_color(palette.BACKDROP)
    load_materials(ps)


class Window:
    """A view: `set_scene`, `draw`, `tick`, `poll`, `close`. Nothing it does touches the engine; it queues Requests."""

    def __init__(self, settings: Settings, feed: Feed | None = None, keymap: dict[str, str] | None = None):
        """Opens the window.

        Args:
            settings: read at the start, written to by the panels, saved by `close`.
            feed: takes the keys of every tick (`devices.keyboard.Keyboard.feed`).
            keymap: key -> action, for the help.

        Raises:
            RuntimeError: no display or no OpenGL; the message says what Polyscope said.
        """
        self.settings = settings
        self.feed = feed
        self.state = ViewState(settings)
        self.state.keymap = help_texts(keymap or {})
        self.state.overlay = not settings.overlay_seen
        for text in settings.warnings:
            self.state.notice(text)
        self.closed = False
        self.problem = ""  # traceback of the last exception while drawing
        self._progress: tuple[str, float] | None = ("starting", 0.0)
        self._structures = Structures()
        self._images = PadImages()
        self._pictures = EpisodePictures()
        self._quality = Quality(settings.quality)
        self._ghost: Ghost | None = None
        self._outline: Outline | None = None
        self._view = Rect(0, 0, 1, 1)  # where the scene is seen between the panels
        self._bookmarks: dict = {}
        self._dirty = True  # a new frame waits to be moved to the screen
        self._last_tick = 0.0
        self._shown = ("", 0.0)
        self._rect_log = os.environ.get("TACKTILE_LOG_RECTS")
        set_up(False, (settings.window_width, settings.window_height))
        self._keys = KeyReader()
        self._quality.apply()
        ps.set_user_callback(self._callback)

    # -- what the loop calls

    def progress(self, text: str, fraction: float) -> None:
        """Shows a loading page; fraction in [0, 1], negative = unknown. Ticks the window."""
        self._progress = (text, fraction)
        self.tick()

    def ready(self) -> None:
        """Takes the loading page away; `set_scene` does too."""
        self._progress = None

    def set_scene(self, scene, points: np.ndarray) -> None:
        """Another scene, or the same one built anew. points: world-0 positions [m], (P, 3)."""
        self._images.clear()
        self._pictures.clear()
        self._structures.register(scene, points)
        self._quality.apply()  # Polyscope forgets its ground setting when the first structure comes
        self._ghost = Ghost(scene, scene.model)
        self._outline = Outline(scene.model)
        self.state.scene = scene
        self.state.frame = None
        self.state.clear_history()
        own = self.settings.bookmarks.get(scene.name, {})
        eye, target = tuple(scene.camera)[:2]
        self._bookmarks = {"home": (eye, target)} | dict(getattr(scene, "bookmarks", {}) or {}) | own
        ps.set_vertical_fov_degrees(FIELD_OF_VIEW)
        ps.look_at(tuple(map(float, eye)), tuple(map(float, target)))
        self._progress = None

    def set_model(self, model, points: np.ndarray) -> None:
        """The same scene, cut or joined again. points: world-0 positions [m], (P, 3), in the new model's numbering."""
        self._structures.set_model(model, points)
        self._quality.apply()
        self._ghost = Ghost(self.state.scene, model)
        self._outline = Outline(model)
        frame = self.state.frame
        if frame is not None:  # what was drawn last is numbered as before the cut
            self.state.frame = replace(frame, points=points, signals=None)
            self.state.info = self.state.info | {"tape": {}, "cut": {}}
        self._dirty = True

    def draw(self, frame: Frame, info: dict) -> None:
        """Adopts a frame, and what the loop tells beside it (`app.info.loop_info`); the next tick shows both."""
        self.state.take(frame, info)
        self._dirty = True

    def tick(self) -> None:
        """Redraws once, whatever happens in the panels; notes whether the window was asked to close."""
        begin = time.perf_counter()
        if self._dirty and self.state.frame is not None and self.state.scene is not None:
            self._move()
        self._pictures.prepare()
        ps.frame_tick()
        if ps.window_requests_close():  # resets when read: read once a tick, here and nowhere else
            self.closed = True
        now = time.perf_counter()
        self.state.draw_seconds = self._quality.seconds
        if self._progress is None:
            notice = self._quality.note(now - begin)
            if notice:
                self._quality.apply()
                self.state.notice(notice)
        self._last_tick = now
        if self._rect_log:
            Path(self._rect_log).write_text(json.dumps(self.state.rects))

    def tick_if_due(self) -> None:
        """A redraw when the last one lies long enough back. Called between Newton iterations, so that the camera turns
        smoothly while a step is long, and after steps that are late, so that drawing does not make them later."""
        if time.perf_counter() - self._last_tick >= max(REDRAW, SHARE * self._quality.seconds):
            self.tick()

    def poll(self) -> list[Request]:
        """Wishes queued since the last poll; those that concern the window alone are carried out here."""
        wishes, self.state.requests = self.state.requests, []
        out = []
        for wish in wishes:
            if wish.verb == "camera":
                self._fly(wish.value)
            elif wish.verb == "bookmark":
                self._bookmark()
            else:
                out.append(wish)
        return out

    def camera_rotation(self) -> np.ndarray:
        """World from camera (3, 3) for driving, columns right, away from the operator, up; see
        `devices.rotations.camera_rotation`."""
        camera = ps.get_view_camera_parameters()
        eye, look = np.asarray(camera.get_position()), np.asarray(camera.get_look_dir())
        return camera_rotation(eye, eye + look, np.asarray(camera.get_up_dir()))

    def drive_camera(self, twist: np.ndarray, dt: float) -> None:
        """Moves the view by a world twist (6,) [m/s, rad/s] for dt [s]: eye and target shift, the view turns about the
        eye."""
        camera = ps.get_view_camera_parameters()
        eye, look = np.asarray(camera.get_position()), np.asarray(camera.get_look_dir())
        eye = eye + twist[:3] * dt
        look = matrix_from_quat(quat_from_vector(twist[3:] * dt)) @ look
        ps.look_at(tuple(map(float, eye)), tuple(map(float, eye + look)), fly_to=False)

    def toggle_help(self) -> None:
        self.state.overlay = not self.state.overlay

    def screenshot(self, path: Path, panels: bool = True) -> Path:
        """Writes the picture as PNG."""
        from PIL import Image

        pixels = ps.screenshot_to_buffer(transparent_bg=False, include_UI=panels)
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels[..., :3]).save(path)
        return path

    def view_picture(self) -> np.ndarray:
        """(h, w, 3) uint8 of what is seen between the panels, without them; with the outline of the other episode."""
        pixels = np.ascontiguousarray(ps.screenshot_to_buffer(transparent_bg=False, include_UI=False)[..., :3])
        if self._outline is not None and self.state.about("ghost") is not None:
            pixels = self._outline.onto(pixels, self.state.about("ghost"))
        view, height = self._view, pixels.shape[0]
        top, low = int(max(view.y, 0)), int(min(view.bottom, height))
        return pixels[top:low, int(max(view.x, 0)) : int(view.right)]

    def close(self) -> None:
        """Saves the settings and takes the window down."""
        width, height = ps.get_window_size()
        self.settings.window_width, self.settings.window_height = int(width), int(height)
        try:
            self.settings.save()
        except OSError as error:
            print(f"settings were not saved: {error}", file=sys.stderr)
        ps.clear_user_callback()
        ps.shutdown()

    # -- inside

    def _move(self) -> None:
        frame, mode = self.state.frame, self.settings.color_mode
        limit = self.settings.scales.get(mode, 1.0)
        self._structures.shadows = self._quality.shadows
        if frame.points is not None:
            self.state.field_max = self._structures.update(
                frame, mode, limit, self.state.about("coat_depth"), self.state.about("tape"), self.state.about("cut")
            )
        self._images.prepare(self.state.about("pads", []), self.settings.scales["depth"])
        self._shown = (mode, limit)
        self._dirty = False

    def _callback(self) -> None:
        # an exception that leaves this callback breaks Polyscope for good
        try:
            self._build()
        except Exception:  # noqa: BLE001 - shown to the operator, the loop goes on
            text = traceback.format_exc()
            if text != self.problem:
                print(text, file=sys.stderr)
                self.state.notice(f"a panel failed: {text.strip().splitlines()[-1]}")
            self.problem = text

    def _build(self) -> None:
        width, height = ps.get_window_size()
        state = self.state
        hidden = [] if state.about("pads") or state.traces or state.frame is None else ["tactile"]
        if not state.sticky:
            hidden.append("tape")
        elif not state.about("pads"):
            hidden.append("tactile")  # the pull is in the tape panel
        collapsed = [name for name in self.settings.collapsed if name not in hidden]
        replayed = bool(state.about("replay"))
        layout = compute_layout(width, height, self.settings.ui_scale, _known(collapsed), hidden, replayed)
        self._view = layout["view"]
        theme.apply_style(layout.scale)
        state.rects.clear()
        pressed = self._keys.read(self.feed)
        if "F1" in pressed and self.feed is None:
            self.toggle_help()
        if "Escape" in pressed:
            state.overlay = state.picker = state.devices = False
            if state.browser:
                state.browser = False
                state.ask("browse", {"open": False})
            state.enlarged = ""
        if self._progress is not None:
            _loading(state, layout, *self._progress)
            return
        status_bar.draw(state, layout)
        for name, module in PLAIN_PANELS.items():
            if name in layout:
                module.draw(state, layout)
        if "tactile" in layout:
            tactile.draw(state, layout, self._images)
        view_bar.draw(state, layout, self._bookmarks)
        if self._ghost is not None:
            self._ghost.draw(state.frame, layout["view"])
        if self._outline is not None and state.about("ghost") is not None:
            self._outline.draw(state.about("ghost"), layout["view"])
        timeline.draw(state, layout)
        view_bar.banner(state, layout)
        pad_large.draw(state, layout, self._images)
        scene_picker.draw(state, layout)
        devices.draw(state, layout)
        episodes.draw(state, layout, self._pictures)
        overlay.draw(state, layout)
        _border(state, width, height, layout.scale)
        mode = self.settings.color_mode
        if self._shown != (mode, self.settings.scales.get(mode, 1.0)):
            self._dirty = True  # shown at the next tick
        self._shortcuts(pressed)

    def _shortcuts(self, pressed: set[str]) -> None:
        """Digits fly to the camera bookmarks; everything else belongs to the key map."""
        bound = set(self.state.keymap.values())
        for number, name in enumerate(list(self._bookmarks)[:9], 1):
            if str(number) in pressed and str(number) not in bound:
                self.state.ask("camera", name)

    def _fly(self, name: str) -> None:
        if name in self._bookmarks:
            eye, target = self._bookmarks[name]
            ps.look_at(tuple(map(float, eye)), tuple(map(float, target)), fly_to=False)

    def _bookmark(self) -> None:
        scene = self.state.scene
        if scene is None:
            return
        camera = ps.get_view_camera_parameters()
        eye, look = np.asarray(camera.get_position()), np.asarray(camera.get_look_dir())
        target = eye + look * float(
            np.linalg.norm(np.asarray(scene.camera[1], float) - np.asarray(scene.camera[0], float))
        )
        own = self.settings.bookmarks.setdefault(scene.name, {})
        name = f"view {len(own) + 1}"
        own[name] = [eye.tolist(), target.tolist()]
        self._bookmarks[name] = (eye, target)


def _known(names: list[str]) -> list[str]:
    """Panels of a newer version's settings file are left alone."""
    from app.view.layout import PANELS

    return [name for name in names if name in (*PANELS, "replay")]


def _loading(state: ViewState, layout, text: str, fraction: float) -> None:
    from app.view.layout import Rect
    from app.view.panels.frame_of import window

    s = layout.scale
    status, timeline_rect = layout["status"], layout["timeline"]
    width = min(420 * s, status.width - 20 * s)
    center = (0.5 * status.width, 0.5 * timeline_rect.bottom)
    with window(state, "loading", Rect(center[0] - 0.5 * width, center[1] - 55 * s, width, 110 * s)):
        theme.text("Tacktile")
        theme.text(text, palette.TEXT_DIM)
        amount = fraction if fraction >= 0.0 else (time.perf_counter() * 0.4) % 1.0
        psim.ProgressBar(float(amount), (-1.0, 10 * s), "")
        theme.text("the first start compiles the kernels; later ones take seconds", palette.TEXT_DIM)


def _border(state: ViewState, width: float, height: float, s: float) -> None:
    """Red around everything while recording, amber while saving."""
    color = status_bar.RECORD_COLORS.get(state.about("record", {}).get("state", ""))
    if color is not None:
        canvas = psim.GetForegroundDrawList()
        canvas.AddRect((1, 1), (width - 1, height - 1), palette.packed(color), 0.0, 0, 3.0 * s)
