"""One run, from options to its end: which view, which input, where things go. The sentences printed here are the ones
that the operator reads first."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from app.headless import NullView, has_display
from app.loop import FrameLoop, Outcome, Wiring
from app.operator import Operator
from app.progress import TerminalBar
from app.run_summary import RunSummary
from app.scripted import open_input
from app.seats import parse_inputs
from app.session import Progress, Session, choose_compute, load_session, quiet_warp, scene_file
from app.settings import Settings, config_dir, data_dir


@dataclass(frozen=True)
class RunOptions:
    """What the command line asks. input, record, compute, steps: None = chosen by itself."""

    scene: str = "box_packaging"
    input: str | None = None
    record: Path | None = None
    headless: bool = False
    compute: str | None = None
    steps: int | None = None
    overrides: tuple[str, ...] = ()
    no_record: bool = False
    no_pictures: bool = False
    state_log: Path | None = None
    worlds: int | None = None
    show: int = 0
    draw: int | None = None
    seed: int | None = None


def start_run(options: RunOptions, console: Console) -> int:
    """Runs and returns the exit status: 0, or 1 when a step failed.

    Raises:
        ValueError, FileNotFoundError: the options, the scene or a script are wrong; the text says what and where.
    """
    from scenes.config import load_config

    quiet_warp()
    _end_on_terminate()
    config = load_config(options.scene, list(options.overrides))  # a slip is told before a window opens
    options = _with_worlds(options, config)
    compute, sentence = choose_compute(options.compute)
    console.print(escape(sentence), soft_wrap=True)
    if not options.headless:
        if not has_display():
            console.print(
                "no display was found (DISPLAY and WAYLAND_DISPLAY are empty): running without a window", soft_wrap=True
            )
        else:
            try:
                return _with_window(options, compute, console)
            except NoWindow as error:
                console.print(f"the window did not open ({escape(str(error))}): running without one", soft_wrap=True)
    return _without_window(options, compute, console)


def _with_worlds(options: RunOptions, config) -> RunOptions:
    """--worlds, --draw and --seed as overrides. A seed alone is world 0 of its draws.

    Raises ValueError when they exclude each other, --show is out of range, or there is nothing to draw.
    """
    from scenes.config import overridden
    from scenes.worlds import world_draw

    draw = options.draw
    if options.seed is not None:
        if config.file.randomise is None or not config.file.randomise.draws:
            nothing = f"scene {options.scene} draws nothing; it has no section `randomise`"
            raise ValueError(f"--seed {options.seed}: {nothing}")
        chosen = f"randomise.seed={options.seed}"
        config, options = overridden(config, [chosen]), replace(options, overrides=(*options.overrides, chosen))
        draw = 0 if draw is None and options.worlds in (None, 1) else draw
    count = options.worlds or config.file.worlds
    if draw is not None:
        if options.worlds not in (None, 1):
            raise ValueError("--draw runs one world alone; leave --worlds out, or --draw")
        count, texts = 1, ("worlds=1", *world_draw(config, draw))
    else:
        texts = (f"worlds={count}",) if options.worlds else ()
    if not options.show < count:
        raise ValueError(f"--show is {options.show}; this run has worlds 0..{count - 1}")
    return replace(options, overrides=(*options.overrides, *texts))


def _show(session: Session, world: int) -> None:
    """World of a batch that is seen first."""
    if hasattr(session.engine, "show"):
        session.engine.show(world)
        if session.tactile is not None:
            session.tactile.world = world


def _end_on_terminate() -> None:
    """SIGTERM ends a run as Ctrl+C does: what is being recorded is sealed."""
    import signal
    import threading

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background of a shell
            signal.signal(signal.SIGINT, signal.default_int_handler)


class NoWindow(RuntimeError):
    """The window could not be opened; the run goes on without one."""


# -- with a window


def _with_window(options: RunOptions, compute: str, console: Console) -> int:
    from app.replay_run import replay_in_loop
    from devices.keyboard import Keyboard
    from devices.keymap import load_keymap

    user_map = config_dir() / "keymap.yaml"
    keymap = load_keymap(user_map if user_map.is_file() else None)
    settings = Settings.load()
    keyboard = Keyboard(keymap)
    keyboard.open()
    view = _open_window(settings, keyboard, keymap)
    load = partial(_load, overrides=options.overrides, first=options.scene, compute=compute)
    closed_early = _watch_close(view)
    try:
        session = load(options.scene, closed_early)
        _show(session, options.show)
        device, others = _open_inputs(options.input or "keyboard", keymap, keyboard)
        operator = Operator(device, keyboard, settings.profile, others)
        make = partial(_recorder, folder=options.record, compute=compute, input_name=device.name)
        wiring = Wiring(
            recorder=make(session), make_recorder=make, load=load, open_device=partial(open_input, keymap=keymap),
            replay=partial(replay_in_loop, compute=compute),
            checkpoint_folder=data_dir() / "checkpoints" / session.scene.name, compute=compute.upper(),
        )  # fmt: skip
    except _ClosedWhileLoading:
        view.close()
        return 0
    except BaseException:
        view.close()
        raise
    for text in _recover(options.record or data_dir() / "episodes" / session.scene.name, view.progress):
        view.state.notice(text)
    if operator.scripted:  # nobody is there to click the first page away
        view.state.overlay = False
    loop = FrameLoop(session, operator, view, wiring)
    try:
        _log_state(loop, options.state_log)
    except ValueError:
        loop.close()
        raise
    summary = _summary(loop)
    outcome = _run(loop, options.steps, settings)
    return _report(outcome, console, summary)


def _run(loop: FrameLoop, steps: int | None, settings: Settings) -> Outcome:
    """Runs with the profile remembered before the view saves the settings."""
    view_close = loop.view.close

    def close() -> None:
        if not loop.operator.scripted:
            settings.profile = loop.operator.profile()
        settings.last_scene = loop.session.path
        view_close()

    loop.view.close = close
    return loop.run(steps)


def _open_window(settings: Settings, keyboard, keymap):
    try:
        from app.view.window import Window

        return Window(settings, keyboard.feed, keymap.keys)
    except Exception as error:  # noqa: BLE001 - missing library, no OpenGL, no display: all mean no window
        raise NoWindow(str(error).strip() or type(error).__name__) from error


class _ClosedWhileLoading(Exception):
    pass


def _watch_close(view) -> Progress:
    """The view's progress, ending the load when the window is closed meanwhile."""

    def progress(text: str, fraction: float) -> None:
        view.progress(text, fraction)
        if view.closed:
            raise _ClosedWhileLoading

    return progress


def _load(path: str, progress: Progress, *, overrides: tuple[str, ...], first: str, compute: str) -> Session:
    """--set belongs to the scene that was named beside it, not to the next one that is picked."""
    ready = compute == "cpu"  # kernels are; on a GPU the first step also sets up the driver
    return load_session(path, overrides if path == first else (), compute, progress, trial=not ready)


# -- without


def _without_window(options: RunOptions, compute: str, console: Console) -> int:
    folder = options.record or data_dir() / "runs" / Path(options.scene).stem
    bar = TerminalBar(console, options.steps)
    session = load_session(options.scene, options.overrides, compute, bar.loading)
    _show(session, options.show)
    device, others = _open_inputs(options.input or _script_of(session), None)
    steps = options.steps or _length(device, session)
    bar = TerminalBar(console, steps)
    pictures = None if options.no_pictures else _offscreen(console)
    for text in () if options.no_record else _recover(folder):
        console.print(escape(text), soft_wrap=True)
    say: Callable[[str], None] = lambda text: console.print(escape(text), soft_wrap=True)  # noqa: E731
    view = NullView(say, pictures, bar, steps, folder / "pictures")
    recorder = None if options.no_record else _recorder(session, folder=folder, compute=compute, input_name=device.name)
    wiring = Wiring(recorder=recorder, pacing=False, stop_on_failure=True, compute=compute)
    console.print(f"running {session.scene.name} with {device.name}" + (f", {steps} steps" if steps else ""))
    loop = FrameLoop(session, Operator(device, others=others), view, wiring)
    _log_state(loop, options.state_log)
    if recorder is not None and not _records_itself(device):
        _start_recording(recorder, session, loop)
    summary = _summary(loop)
    try:
        outcome = loop.run(steps)
    finally:
        bar.stop()
    code = _report(outcome, console, summary)
    if view.written:
        console.print(f"pictures: {escape(str(folder / 'pictures'))}", soft_wrap=True)
    if recorder is not None:
        status = recorder.status()
        name = f"{status.episode} ({status.num_frames} frames) in " if status.episode else ""
        console.print(f"episode: {escape(name + str(folder))}", soft_wrap=True)
    return code


def _start_recording(recorder, session: Session, loop: FrameLoop) -> None:
    """Raises ValueError with the recorder's sentence: a run whose episode is wanted does not go on without one."""
    from app.record import RecorderError

    try:
        recorder.start(session.engine.positions(), 0.0)
    except RecorderError as error:
        loop.close()
        raise ValueError(f"{error} (--no-record runs without an episode)") from None


def _script_of(session: Session) -> str:
    script = getattr(session.scene, "script", None)
    return f"scripted:{script}" if script else "none"


def _length(device, session: Session) -> int | None:
    """Physics steps that a script needs; 300 for an input that never ends by itself."""
    duration = device.describe().get("duration")
    if duration is not None:
        return max(1, round(float(duration) / session.dt) + 1)
    return None if hasattr(device, "finished") else 300


def _records_itself(device) -> bool:
    script = getattr(device, "script", None)
    goals = getattr(device, "_goals", ())
    return any("record" in part.press for part in (*getattr(script, "segments", ()), *goals))


def _offscreen(console: Console):
    try:
        from app.view.offscreen import Offscreen

        return Offscreen()
    except Exception as error:  # noqa: BLE001 - pictures are a courtesy
        console.print(f"no pictures: {escape(str(error).strip() or type(error).__name__)}", soft_wrap=True)
        return None


# -- both


def _open_inputs(text: str, keymap, keyboard=None):
    """(device that drives the tool in use, devices in other roles) of --input."""
    opened = {}
    try:
        for role, spec in parse_inputs(text).items():
            opened[role] = keyboard if spec == "keyboard" and keyboard is not None else open_input(spec, keymap)
    except BaseException:
        for device in opened.values():
            if device is not keyboard:
                device.close()
        raise
    return opened.pop("right"), opened


def _log_state(loop: FrameLoop, path: Path | None) -> None:
    """Adds the sink of --state-log."""
    from app.state_log import StateLog

    if path is not None:
        loop.wiring.sinks = [*loop.wiring.sinks, StateLog(path, loop)]


def _summary(loop: FrameLoop) -> RunSummary:
    """Adds the sink that adds up what the steps cost."""
    summary = RunSummary()
    loop.wiring.sinks = [*loop.wiring.sinks, summary]
    return summary


def _recorder(session: Session, *, folder: Path | None, compute: str, input_name: str):
    """A recorder for a scene; its folder is made by itself."""
    from app.cli import version
    from app.record.layout import scene_layout
    from app.record.recorder import Recorder
    from app.thumbnail import session_painter

    config = session.scene.config
    return Recorder(
        folder or data_dir() / "episodes" / session.scene.name,
        session.scene.name,
        scene_yaml=scene_file(getattr(config, "path", "")),
        options=session.scene.options,
        versions=_versions() | {"tacktile": version(), "compute": compute, "input": input_name,
                                "overrides": _own_overrides(session)},
        get_state=getattr(session.engine, "solo_state", session.engine.view_state),
        layout=scene_layout(session.scene, session.model),
        picture=session_painter(session),
    )  # fmt: skip


def _own_overrides(session: Session) -> list[str]:
    """What an episode needs to build its world alone: of a batch, the draw of the world that is shown."""
    drawn = session.scene.draws[session.engine.world] if hasattr(session.engine, "show") else ()
    return [*(text for text in session.overrides if not text.startswith("worlds=")), *drawn]


def _versions() -> dict[str, str]:
    from importlib import metadata

    found = {"python": platform.python_version(), "system": platform.system()}
    for name in ("numpy", "warp-lang", "polyscope"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _recover(folder: Path, progress: Progress | None = None) -> list[str]:
    """Seals what an earlier run left unsealed. Never raises: a start must not fail over an old recording."""
    from app.record import recover

    say = None if progress is None else lambda name, done: progress(f"saving what was left of {name}", done)
    try:
        return [found.text for found in recover(folder, say)]
    except Exception as error:  # noqa: BLE001
        return [f"an unfinished recording in {folder} could not be recovered: {error}"]


def _report(outcome: Outcome, console: Console, summary: RunSummary) -> int:
    if outcome.steps and outcome.seconds > 0.0:
        console.print(f"{outcome.steps} steps in {outcome.seconds:.1f} s")
    for line in summary.lines():
        console.print(line, soft_wrap=True, highlight=False)
    if outcome.failure:
        console.print(f"[bold red]the run ended early:[/bold red] {escape(outcome.failure.strip())}", soft_wrap=True)
        if os.environ.get("TACKTILE_DEBUG"):
            console.print_exception()
        return 1
    return 0
