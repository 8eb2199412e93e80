"""`tacktile episodes`: see, check, sort and export what was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.core import TyperGroup

console = Console(highlight=False)
USAGE_ERROR = 2
CAMERAS = ".cameras.h5"  # end of the names of pictures beside episodes
_COLORS = {"error": "red", "warning": "yellow", "note": "dim"}


class DefaultIsList(TyperGroup):
    """`tacktile episodes` and `tacktile episodes DIR` mean `tacktile episodes list ...`."""

    def parse_args(self, ctx, args):
        if not args or (args[0] not in self.commands and args[0] not in ("--help", "-h")):
            args = ["list", *args]
        return super().parse_args(ctx, args)


episodes = typer.Typer(cls=DefaultIsList, help="List, replay, check, sort and export recorded episodes.")

Folder = Annotated[Path, typer.Argument(help="Folder of episodes.")]
OneEpisode = Annotated[Path, typer.Argument(help="An episode_NNNN.h5.")]
Some = Annotated[list[Path], typer.Argument(help="Episodes, or folders of them.")]


def _refuse(text: str) -> typer.Exit:
    """Says what is wrong, without a traceback; raise what it returns."""
    Console(stderr=True, highlight=False).print(f"[bold red]error:[/bold red] {escape(text)}", soft_wrap=True)
    return typer.Exit(USAGE_ERROR)


@contextmanager
def _told() -> Iterator[None]:
    """What is wrong with a file or a wish is a sentence, not a traceback."""
    from app.record import EpisodeError, SetError

    try:
        yield
    except (ValueError, FileNotFoundError, FileExistsError, EpisodeError, SetError) as error:
        raise _refuse(str(error)) from None
    except OSError as error:
        raise _refuse(f"{Path(error.filename or '').name or 'the disk'}: {error.strerror or error}") from None


def _say(text: str) -> None:
    console.print(escape(text), soft_wrap=True)


def _folder(folder: Path) -> Path:
    if not folder.is_dir():
        raise _refuse(f"{folder} is not a folder")
    return folder


def _files(some: list[Path]) -> list[Path]:
    """Sealed episodes among files and folders, in order of number within each folder."""
    from app.record import list_episodes

    found: list[Path] = []
    for path in some:
        if path.is_dir():
            found += [info.path for info in list_episodes(path) if info.sealed]
        elif path.name.endswith(CAMERAS):
            continue  # *.h5 names the pictures beside the episodes too
        elif path.is_file():
            found.append(path)
        else:
            raise _refuse(f"{path}: no such file or folder")
    if not found:
        raise _refuse(f"no saved episodes in {', '.join(map(str, some))}")
    return found


@episodes.command("list")
def list_all(
    folder: Annotated[Path | None, typer.Argument(help="Folder of episodes. Default: all in your data folder.")] = None,
    label: Annotated[str | None, typer.Option("--label", "-l", help="success, failure or none.")] = None,
    trash: Annotated[bool, typer.Option("--trash", help="What was discarded instead.")] = False,
) -> None:
    """List episodes (the default)."""
    from app.record import list_episodes
    from app.settings import data_dir

    place = _folder(folder) if folder is not None else data_dir()
    if label not in (None, "success", "failure", "none"):
        raise _refuse(f"--label {label}; legal: success, failure, none")
    folders = sorted({p.parent for p in place.rglob("episode_*") if p.is_file()}) if place.is_dir() else []
    folders = [f.parent if f.name == "trash" else f for f in folders if (f.name == "trash") == trash]
    table = Table("episode", "scene", "seconds", "frames", "label", "found", box=None, pad_edge=False,
                  padding=(0, 2, 0, 0))  # fmt: skip
    for one in folders:
        for info in list_episodes(one, trash):
            if label is not None and (info.label or "none") != label:
                continue
            kept = "" if info.trim is None else f" (kept {info.trim[1] - info.trim[0]})"
            cells = (str(info.path.relative_to(place)), info.scene_name, f"{info.duration:.1f}",
                     f"{info.num_frames}{kept}", info.label or "-")  # fmt: skip
            color = _COLORS.get(info.worst, "")
            worst = f"[{color}]{info.worst}[/{color}]" if color else ""
            table.add_row(*map(escape, cells), worst)
            if info.problem:
                table.add_row(escape(f"  {info.problem}"))
    if table.row_count:
        console.print(table)
    else:
        _say(f"no episodes under {place}")


@episodes.command()
def show(
    episode: OneEpisode, columns: Annotated[bool, typer.Option("--columns", help="Every column.")] = False
) -> None:
    """Say what one episode holds."""
    from app.record import Episode

    with _told(), Episode(episode) as opened:
        start, stop = opened.kept
        clock = opened.time.monotonic
        wall = float(clock[-1] - clock[0]) if len(clock) > 1 else 0.0
        seconds = float(opened.time.states[-1])
        about = {
            "scene": opened.scene_name,
            "recorded": opened.meta.get("created", ""),
            "label": opened.label or "-",
            "instruction": opened.instruction or "-",
            "length": f"{opened.num_frames} frames, {seconds:.2f} s simulated, {wall:.2f} s on the clock"
            + (f" (x{seconds / wall:.2f} real time)" if wall > 0 else ""),
            "kept": f"frames {start} to {stop}" if (start, stop) != (0, opened.num_frames) else "all",
            "points": str(opened.num_points),
            "stretches": ", ".join(f"{row} {reason}" for row, reason in opened.segments()),
            "exact states": str(len(opened.keyframe_rows)),
            "made with": ", ".join(f"{k} {v}" for k, v in (opened.meta.get("versions") or {}).items() if v),
        }
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        for name, text in about.items():
            table.add_row(f"[bold]{name}[/bold]", escape(str(text)))
        console.print(table)
        for row, text in opened.events()[:20]:
            _say(f"  frame {row}: {text}")
        if columns:
            for path in opened.columns():
                first = opened.rows(path, 0, min(1, opened.num_frames))
                _say(f"  {path} {getattr(first, 'shape', ('list',))[1:]} {getattr(first, 'dtype', '')}")
        _findings(opened.validate(positions=False))


def _findings(findings: list) -> None:
    for finding in findings:
        color = _COLORS[finding.severity]
        console.print(f"  [{color}]{finding.severity}[/{color}]: {escape(finding.text)}", soft_wrap=True)


@episodes.command()
def validate(
    some: Some,
    quick: Annotated[bool, typer.Option("--quick", help="Leave out the look at every position.")] = False,
) -> None:
    """Check episodes before someone trains on them. Ends with status 1 when one has an error."""
    from app.record import Episode, EpisodeError, Finding
    from app.record.sets import look_over

    bad = 0
    for path in _files(some):
        try:
            look_over(path)  # kept for the list
            with Episode(path) as episode:
                found = episode.validate(positions=not quick)
        except EpisodeError as error:
            found = [Finding("error", str(error))]
        worst = found[0].severity if found else ""
        bad += worst == "error"
        color = _COLORS.get(worst, "green")
        console.print(f"[{color}]{escape(str(path))}: {worst or 'nothing found'}[/{color}]", soft_wrap=True)
        _findings(found)
    raise typer.Exit(1 if bad else 0)


@episodes.command()
def stats(folder: Folder, label: Annotated[str | None, typer.Option("--label", "-l")] = None) -> None:
    """Numbers about a set: how many, how long, how fast it ran, what was found, forces."""
    from app.record import list_episodes, set_statistics

    with _told():
        infos = [i for i in list_episodes(_folder(folder)) if label is None or (i.label or "none") == label]
        found = set_statistics(infos)

    def counts(table: dict) -> str:
        return ", ".join(f"{number} {name}" for name, number in sorted(table.items())) or "-"

    span = f"{found.shortest:.1f} to {found.longest:.1f} s"
    rows = {
        "episodes": f"{found.episodes} ({counts(found.labels)})",
        "scenes": counts(found.scenes),
        "simulated": f"{found.seconds:.1f} s in {found.frames} frames; {span} each",
        "recorded in": f"{found.wall_seconds:.1f} s" + (f", x{found.realtime_factor:.2f} real time"
                                                        if found.wall_seconds > 0 else ""),
        "size": f"{found.size / 1e6:.1f} MB",
        "found": counts(found.findings) + (f", {found.unreadable} unreadable" if found.unreadable else ""),
    }  # fmt: skip
    rows |= {f"force {n}": f"mean {mean:.3g} N, largest {most:.3g} N" for n, (mean, most) in found.force.items()}
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for name, text in rows.items():
        table.add_row(f"[bold]{escape(name)}[/bold]", escape(text))
    console.print(table)


@episodes.command()
def replay(
    episode: OneEpisode,
    inputs: Annotated[
        bool, typer.Option("--inputs", help="Step the engine again with the recorded inputs and say where it differs.")
    ] = False,
    scene: Annotated[
        str | None, typer.Option("--scene", metavar="SCENE", help="Default: the scene named in the episode.")
    ] = None,
    compute: Annotated[
        str | None, typer.Option("--compute", "-c", metavar="WHERE", help="Default: that of the recording.")
    ] = None,
) -> None:
    """Show an episode again in the window; `--inputs` repeats it step by step and compares to the bit."""
    from app.replay import ReplayError
    from app.replay_run import replay_episode

    with _told():
        try:
            code = replay_episode(episode, inputs, scene, compute, console)
        except ReplayError as error:
            raise _refuse(str(error)) from None
    raise typer.Exit(code)


@episodes.command()
def recover(folder: Folder) -> None:
    """Save what a killed run left unsaved; a start in the window does this by itself."""
    from app.record import recover as recover_folder

    found = recover_folder(_folder(folder))
    for one in found:
        _say(one.text)
    if not found:
        console.print("nothing was left unsaved")


@episodes.command()
def trim(
    episode: OneEpisode,
    start: Annotated[float, typer.Option("--start", help="Seconds of simulated time from the begin.")] = 0.0,
    end: Annotated[float | None, typer.Option("--end", help="The same; default: to the end.")] = None,
    idle: Annotated[bool, typer.Option("--idle", help="To where commands were given.")] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Keep everything again.")] = False,
) -> None:
    """Choose the part of an episode that is exported. Nothing is lost: `--reset` takes it back."""
    from app.record import trim as trim_episode
    from app.record import trim_idle

    if idle + reset + (start != 0.0 or end is not None) > 1:
        raise _refuse("--idle, --reset and --start/--end do not go together")
    with _told():
        first, last = trim_idle(episode) if idle else trim_episode(episode, start, end)
    _say(f"{episode.name}: frames {first} to {last} are kept")


@episodes.command()
def label(
    some: Some,
    to: Annotated[str, typer.Option("--to", help="success, failure or none.")],
    instruction: Annotated[str | None, typer.Option("--instruction", help="What was to be done, in words.")] = None,
) -> None:
    """Label episodes, and say what was to be done in them."""
    from app.record.folder import relabel

    if to not in ("success", "failure", "none"):
        raise _refuse(f"--to {to}; legal: success, failure, none (to throw one away: tacktile episodes discard)")
    with _told():
        for path in _files(some):
            relabel(path, None if to == "none" else to, instruction)
            _say(f"{path.name}: {to}" + (f", {instruction}" if instruction else ""))


@episodes.command()
def discard(some: Annotated[list[Path], typer.Argument(help="Episodes.")]) -> None:
    """Move episodes into the trash beside them; `tacktile episodes undo` brings them back."""
    from app.record import discard as discard_episode

    with _told():
        for path in some:
            if path.is_dir():
                raise _refuse(f"{path} is a folder; name the episodes")
            if not path.is_file():
                raise _refuse(f"{path}: no such file")
            moved = discard_episode(path)
            _say(f"{path.name} is in {moved.parent}; back with: tacktile episodes undo {path.parent}")


@episodes.command()
def undo(folder: Folder) -> None:
    """Bring back the episode that was discarded last."""
    from app.record import undo_discard

    with _told():
        back = undo_discard(_folder(folder))
    _say(f"{back.name} is back" if back is not None else "the trash is empty")


@episodes.command()
def merge(
    sources: Annotated[list[Path], typer.Argument(help="Folders of episodes; they stay as they are.")],
    into: Annotated[Path, typer.Option("--into", help="Folder that takes the copies.")],
) -> None:
    """Copy several sets into one, with new numbers. Repeating it copies nothing twice."""
    from app.progress import TerminalBar
    from app.record import merge as merge_folders

    bar = TerminalBar(console, None)
    with _told():
        try:
            result = merge_folders(sources, into, bar.loading)
        finally:
            bar.stop()
    for before, now in result.copied:
        _say(f"{before} -> {now}")
    for text in result.left:
        console.print(f"[yellow]left out:[/yellow] {escape(text)}", soft_wrap=True)
    known = f", {len(result.known)} were there already" if result.known else ""
    _say(f"{len(result.copied)} episodes copied{known}")


@episodes.command("render-cameras")
def render_cameras(
    some: Some,
    rate: Annotated[float, typer.Option(help="Pictures a second of simulated time.")] = 30.0,
    samples: Annotated[int, typer.Option(help="Along each side of a pixel, for the colours: 1 or 2.")] = 2,
    scene: Annotated[str | None, typer.Option(help="The scene's file when it does not ship.")] = None,
    compute: Annotated[str, typer.Option("--compute", "-c", metavar="WHERE", help="cpu or cuda:N.")] = "cpu",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Draw anew what is there.")] = False,
) -> None:
    """Draw the pictures of the scene's cameras (colour and depth) from the recorded states, beside each episode.

    Exports then hold them. No display and no OpenGL are needed.
    """
    from app.cameras.render import CameraError
    from app.cameras.render import render_cameras as render
    from app.progress import TerminalBar

    with _told():
        for path in _files(some):
            bar = TerminalBar(console, None)
            try:
                drawn = render(path, rate, samples, scene, compute, overwrite, bar.loading)
            except CameraError as error:
                raise _refuse(str(error)) from None
            finally:
                bar.stop()
            _say(f"{drawn.path.name}: {drawn.pictures} pictures each of {', '.join(drawn.cameras)}")


@episodes.command()
def export(
    some: Some,
    to: Annotated[str, typer.Option("--to", "-t", metavar="FORMAT", help="robomimic, lerobot, mcap, csv or mp4.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File (robomimic) or folder (the others) that is written.")],
    action: Annotated[
        str, typer.Option(help="target: poses asked of the tools; command: the operator's twist.")
    ] = "target",
    every: Annotated[int, typer.Option(help="Take one of so many states.")] = 1,
    only: Annotated[list[str] | None, typer.Option(help="Label to take; may be repeated. Default: any.")] = None,
    stretches: Annotated[str, typer.Option(help="last: what follows the last reset; all: each stretch.")] = "last",
    points: Annotated[bool, typer.Option("--points", help="Positions of all points too.")] = False,
    images: Annotated[bool, typer.Option("--images/--no-images", help="Images of pads.")] = True,
    view: Annotated[bool, typer.Option("--view", help="LeRobot: a video of the scene, drawn again.")] = False,
    fps: Annotated[float, typer.Option(help="MP4: frames a second of simulated time.")] = 30.0,
    size: Annotated[str, typer.Option(help="Of drawn pictures, e.g. 1280x720.")] = "640x480",
    quality: Annotated[str, typer.Option(help="Of drawn pictures: low, medium, high.")] = "medium",
    valid: Annotated[float, typer.Option(help="robomimic: share put aside for validation.")] = 0.1,
    scene: Annotated[str | None, typer.Option(help="MP4: the scene's file when it does not ship.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
) -> None:
    """Write episodes as a data set, a table or a film, and read it back before it appears.

    [bold]tacktile episodes export recordings --to lerobot --out close_the_box --only success[/bold]
    """
    from app.export import ExportError, ExportOptions
    from app.export import export as export_episodes
    from app.progress import TerminalBar

    bar = TerminalBar(console, None)
    with _told():
        options = ExportOptions(
            action=action, every=every, stretches=stretches, only=tuple(only or ()), points=points, images=images,
            view=view, size=_size(size), quality=quality, fps=fps, valid=valid, overwrite=overwrite,
        )  # fmt: skip
        paths = _files(some)
        try:
            done = export_episodes(paths, to, out, options, bar.loading, scene)
        except ExportError as error:
            raise _refuse(str(error)) from None
        finally:
            bar.stop()
    for text in done.skipped:
        console.print(f"[yellow]left out:[/yellow] {escape(text)}", soft_wrap=True)
    for text in done.texts:
        _say(text)
    if images and to != "csv" and not any(path.with_suffix(CAMERAS).is_file() for path in paths):
        _say("without pictures of cameras; to have them, draw them first: tacktile episodes render-cameras")
    _say(f"written: {', '.join(map(str, done.paths[:3]))}" + (" ..." if len(done.paths) > 3 else ""))


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    if not (width.isdigit() and height.isdigit()):
        raise ValueError(f"--size {text}; legal: WIDTHxHEIGHT, e.g. 1280x720")
    return int(width), int(height)
