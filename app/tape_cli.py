"""`tacktile tape`: wind a roll into a file, turn a peel test into the numbers of a scene."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

console = Console(highlight=False)
tape = typer.Typer(no_args_is_help=True, help="Rolls of tape: wind one into a file, calibrate its adhesive.")

LENGTHS = ("width", "free_length", "core_inner_radius", "core_outer_radius")


class Refused(typer.Exit):
    """A sentence was printed; nothing was done."""


def _refuse(text: str) -> Refused:
    Console(stderr=True, highlight=False).print(f"[bold red]error:[/bold red] {escape(text)}", soft_wrap=True)
    return Refused(2)


def _quantity(option: str, text: str | None, dimension: str) -> float | None:
    """SI value of an option's text, with a unit or without. None stays None."""
    from scenes.units import parse_quantity

    if text is None:
        return None
    try:
        return parse_quantity(text, dimension)
    except ValueError as error:
        raise _refuse(f"{option}: {error}") from None


def _complete_preset(incomplete: str) -> list[str]:
    from engine.tape.presets import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


@tape.command()
def wind(
    preset: Annotated[
        str | None,
        typer.Argument(help="cloth_19mm or scotch_3850; single numbers may differ.", autocompletion=_complete_preset),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where the roll goes, .npz.")
    ] = None,
    turns: Annotated[float | None, typer.Option("--turns", help="Wound turns, 1 to 64.")] = None,
    width: Annotated[str | None, typer.Option("--width", metavar="LENGTH", help="Of the strip, e.g. 19mm.")] = None,
    cells_across: Annotated[int | None, typer.Option("--cells-across", help="Cells across the width, even.")] = None,
    free_length: Annotated[
        str | None, typer.Option("--free-length", metavar="LENGTH", help="Straight end that is not wound.")
    ] = None,
    core_inner_radius: Annotated[str | None, typer.Option("--core-inner-radius", metavar="LENGTH")] = None,
    core_outer_radius: Annotated[str | None, typer.Option("--core-outer-radius", metavar="LENGTH")] = None,
    thickness: Annotated[str | None, typer.Option("--thickness", metavar="LENGTH", help="Of the backing.")] = None,
    young: Annotated[
        str | None, typer.Option("--young", metavar="PRESSURE", help="Young's modulus of the backing, e.g. 100MPa.")
    ] = None,
    settle: Annotated[
        bool, typer.Option("--settle/--no-settle", help="Let it come to rest (steps of the engine), or only wind it.")
    ] = True,
    most_steps: Annotated[int, typer.Option("--most-steps", min=1, help="Give up settling after this many.")] = 200,
) -> None:
    """Wind a strip around a core, let it settle, save it.

    [bold]tacktile tape wind cloth_19mm --turns 16 -o my_roll.npz[/bold]

    A scene takes it with `asset: my_roll.npz` in an entity of type roll.
    """
    from app.session import quiet_warp

    quiet_warp()
    from engine.tape.presets import PRESETS
    from engine.tape.winding import RollSpec

    if preset is not None and preset not in PRESETS:
        raise _refuse(f"there is no preset '{preset}'; legal: {', '.join(PRESETS)}")
    if output is None:
        raise _refuse("say where the roll goes: -o FILE.npz")
    if output.suffix != ".npz":
        raise _refuse(f"-o {output}: the file must end in .npz")
    if not output.absolute().parent.is_dir():
        raise _refuse(f"-o {output}: there is no folder {output.absolute().parent}")
    texts = dict(zip(LENGTHS, (width, free_length, core_inner_radius, core_outer_radius), strict=True))
    changes = {k: _quantity("--" + k.replace("_", "-"), v, "length") for k, v in texts.items() if v is not None}
    changes |= {k: v for k, v in (("turns", turns), ("cells_across", cells_across)) if v is not None}
    spec = RollSpec() if preset is None else PRESETS[preset].spec
    backing = {
        "thickness": _quantity("--thickness", thickness, "length"),
        "young": _quantity("--young", young, "pressure"),
    }
    try:
        material = replace(spec.material, **{k: v for k, v in backing.items() if v is not None})
        spec = replace(spec, material=material, **changes)
    except ValueError as error:
        raise _refuse(str(error).replace("RollSpec.", "").replace("ShellMaterial.", "")) from None
    _wind(spec, output, settle, most_steps)


def _wind(spec, output: Path, settle: bool, most_steps: int) -> None:
    from engine.tape.asset import save_roll
    from engine.tape.winding import wind_roll

    asset = wind_roll(spec)
    points = len(asset.vertices)
    console.print(
        f"wound {spec.turns:g} turns: {asset.num_rows} rows, {points} points, {1e3 * asset.outer_radius:.1f} mm outer "
        f"radius, {asset.arc_length[-1]:.2f} m of tape",
        soft_wrap=True,
    )
    if settle:
        try:
            asset = _settled(asset, most_steps)
        except RuntimeError as error:
            if not str(error).startswith("settle_roll"):
                raise
            raise _refuse(str(error)) from None
        record = asset.settled
        console.print(
            f"at rest after {record.steps} steps: {1e3 * record.elastic_energy:.3g} mJ elastic, smallest gap "
            f"{1e3 * record.min_distance:.3f} mm, moved by {1e3 * record.travel:.2f} mm at most",
            soft_wrap=True,
        )
    save_roll(output, asset)
    console.print(f"saved {escape(str(output))} ({output.stat().st_size / 1e6:.1f} MB)", soft_wrap=True)


def _settled(asset, most_steps: int):
    """`settle_roll` under a progress bar: quiet steps at the end are what it waits for, so the bar shows the speed."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from engine.settling import settle_roll

    columns = (TextColumn("settling"), BarColumn(), TextColumn("{task.fields[now]}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("settling", total=most_steps, now="compiling kernels")

        def show(at) -> None:
            text = f"step {at.step}, fastest point {1e3 * at.speed:.2g} mm/s, {at.newton_iterations} Newton"
            bar.update(task, completed=at.step, now=text)

        return settle_roll(asset, progress=show, most_steps=most_steps)


@tape.command()
def calibrate(
    force: Annotated[str, typer.Option("--force", metavar="FORCE", help="Steady peel force, e.g. 2.5N.")],
    width: Annotated[str, typer.Option("--width", metavar="LENGTH", help="Of the strip, e.g. 19mm.")],
    angle: Annotated[
        str,
        typer.Option("--angle", metavar="DEG", help="Between the pull and the stuck strip."),
    ] = "180",
) -> None:
    """Turn a peel test into the work of adhesion, W = F / width (1 - cos angle), and lines for a scene."""
    pull = _quantity("--force", force, "force")
    strip = _quantity("--width", width, "length")
    degrees = angle.strip().removesuffix("deg").removesuffix("°").strip()
    try:
        turn = math.radians(float(degrees))
    except ValueError:
        raise _refuse(f"--angle {angle!r} is not an angle in degrees") from None
    try:
        work = work_from_peel(pull, strip, turn)
    except ValueError as error:
        raise _refuse(str(error)) from None
    console.print(f"# {pull:g} N on a strip of {1e3 * strip:g} mm at {math.degrees(turn):g} degrees", soft_wrap=True)
    console.print("# W = F / width * (1 - cos angle)   (Rivlin 1944, Kendall 1975)")
    entry = f"mesh: strip, side: negative, partners: [plate], adhesive: {{law: front, work: {work:.4g} J/m2}}"
    console.print(escape(f"adhesion:\n  - {{{entry}}}"), soft_wrap=True)
    for line in ASSUMPTIONS:
        console.print(f"# {line}", soft_wrap=True)


ASSUMPTIONS = (
    "Holds for: a steady force; a strip that hardly stretches (F / width far below E h); bending that costs nothing in",
    "the mean; the angle at which the force really acts, which a short arm makes steeper than the jig's; the speed of",
    "your test, unless rate_exponent and rate_speed say how the force grows with speed; this pair of surfaces only.",
    "Below 60 degrees the strip's stretch counts and W comes out too low.",
)


def work_from_peel(force: float, width: float, angle: float) -> float:
    """W [J/m2] from a steady peel force [N], width [m] and angle [rad]: Rivlin and Kendall, unstretchable strip.

    Raises ValueError naming the number that is out of range.
    """
    for name, value, unit in (("--force", force, "N"), ("--width", width, "m")):
        if not (math.isfinite(value) and value > 0.0):
            raise ValueError(f"{name} is {value:g} {unit}; it must be greater than 0")
    if not 0.0 < angle <= math.pi + 1e-9:
        raise ValueError(f"--angle is {math.degrees(angle):g} degrees; it must lie above 0 and at most at 180")
    return force / width * (1.0 - math.cos(angle))
