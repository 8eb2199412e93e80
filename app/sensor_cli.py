"""`tacktile sensor`: mesh the pad of a tactile sensor, convert a sensor list."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

console = Console(highlight=False)
sensor = typer.Typer(no_args_is_help=True, help="Tactile sensors: mesh a pad, calibrate its colour image.")


def refuse(text: str) -> typer.Exit:
    """Says what is wrong, without a traceback; raise what it returns."""
    Console(stderr=True, highlight=False).print(f"[bold red]error:[/bold red] {escape(text)}", soft_wrap=True)
    return typer.Exit(2)


def _complete_source(incomplete: str) -> list[str]:
    return [name for name in ("box", "shell") if name.startswith(incomplete)]


@sensor.command()
def mesh(
    source: Annotated[
        str, typer.Argument(help="box, shell, or a closed surface (.stl, .obj, .ply).", autocompletion=_complete_source)
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the mesh goes, .vtk.")],
    cell_volume: Annotated[
        str, typer.Option("--cell-volume", "-v", metavar="VOLUME", help="Wanted volume of a tetrahedron, e.g. 2mm3.")
    ] = "6mm3",
    size: Annotated[
        str | None, typer.Option("--size", metavar="'X Y Z'", help="Extents of a box, or x and y of a shell.")
    ] = None,
    thickness: Annotated[str | None, typer.Option("--thickness", metavar="LENGTH", help="Of a shell.")] = None,
    radius_x: Annotated[str | None, typer.Option("--radius-x", metavar="LENGTH", help="Of a shell, along x.")] = None,
    radius_y: Annotated[str | None, typer.Option("--radius-y", metavar="LENGTH", help="Of a shell, along y.")] = None,
    units: Annotated[str | None, typer.Option("--units", help="Of the surface file: m, mm, cm, um or in.")] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Mend the surface file; what was done is told.")] = False,
    coat: Annotated[str | None, typer.Option("--coat", metavar="SIDE", help="That senses, as +z; else found.")] = None,
    held: Annotated[str | None, typer.Option("--held", metavar="SIDE", help="That is bonded; else found.")] = None,
) -> None:
    """Fill a pad with tetrahedra of about one volume, find its coat and its held faces, tell the quality.

    [bold]tacktile sensor mesh box --size "25mm 20mm 4mm" -v 2mm3 -o pad.vtk[/bold]
    [bold]tacktile sensor mesh shell --size "25mm 18mm" --radius-y 30mm -v 1mm3 -o dome.vtk[/bold]
    [bold]tacktile sensor mesh gel.stl --units m -v 1mm3 -o gel.vtk[/bold]
    """
    from app.progress import TerminalBar
    from scenes.errors import SceneError
    from scenes.gel_faces import find_faces
    from scenes.gel_mesh import fill_to_volume, make_gel
    from scenes.sensors import Sensor, SurfaceGel
    from scenes.vtk import write_vtk

    if output.suffix.lower() != ".vtk":
        raise refuse(f"-o {output}: the file must end in .vtk")
    if not output.parent.is_dir():
        raise refuse(f"-o {output}: there is no folder {output.parent}")
    gel = _gel(source, {"cell_volume": cell_volume, "size": size, "thickness": thickness, "radius_x": radius_x,
                        "radius_y": radius_y, "units": units, "repair": "true" if repair else None})  # fmt: skip
    bar = TerminalBar(console, None)
    try:
        if isinstance(gel, SurfaceGel):
            fill_to_volume(gel, lambda text, share: bar.loading(text, share))
        else:
            bar.loading("making the mesh", 0.2)
        made = make_gel(gel)
        bar.loading("finding the coat", 0.95)
        given = Sensor(link="link", gel=gel, coat=_side("--coat", coat), held=_side("--held", held))
        coated, bonded = find_faces("pad", given, made)
        write_vtk(output, made.vertices, made.tets, f"{source} for a tactile sensor")
    except (SceneError, OSError) as error:
        raise refuse(str(error)) from None
    finally:
        bar.stop()
    _report(output, gel, made, coated, bonded)
    chosen = "".join(f", {key}: {side}" for key, side in (("coat", coat), ("held", held)) if side)
    written = f"gel: {{type: mesh, file: {output.name}, units: m}}{chosen}"
    console.print(escape(f"In a sensor file:  {written}"), soft_wrap=True)


def _side(option: str, text: str | None):
    from scenes.placed import REGIONS
    from scenes.sensors import Faces

    if text is not None and text not in REGIONS:
        raise refuse(f"{option} {text}: legal sides: {', '.join(REGIONS)}")
    return None if text is None else Faces(side=text)


@sensor.command()
def convert(
    source: Annotated[Path, typer.Argument(help="Sensor list, .json.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the sensors go, .yaml.")],
    urdf: Annotated[
        Path | None, typer.Option("--urdf", metavar="FILE", help="The robot; else the one beside the list.")
    ] = None,
) -> None:
    """Turn a sensor list in JSON, as the Taccel project writes it, into a sensor file for a robot.

    [bold]tacktile sensor convert panda/tac_fabr_1e-07.json -o panda.sensors.yaml[/bold]
    """
    from scenes.errors import SceneError
    from scenes.sensor_convert import convert_sensors
    from scenes.sensors import load_sensors

    if output.suffix.lower() != ".yaml":
        raise refuse(f"-o {output}: the file must end in .yaml")
    if not output.resolve().parent.is_dir():
        raise refuse(f"-o {output}: there is no folder {output.parent}")
    try:
        sensors = convert_sensors(source, output, urdf)
        load_sensors(output)  # what was written can be read
    except (SceneError, OSError) as error:
        raise refuse(str(error)) from None
    for found in sensors:
        told = f" ({found.note})" if found.note else ""
        console.print(escape(f"{found.name}: link {found.link}, {found.file.name}{told}"), soft_wrap=True)
    console.print(escape(f"In a scene:  sensors: {output.name}"), soft_wrap=True)


def _gel(source: str, options: dict[str, str | None]):
    """The gel as a sensor file would give it, so that units, limits and messages are the same."""
    from scenes.errors import Place, SceneError
    from scenes.sensors import GEL
    from scenes.yaml_tree import Tree

    place = Place("the command line")
    kind = source if source in ("box", "shell") else "surface"
    written = {"type": Tree(kind, place)}
    if kind == "surface":
        if not Path(source).suffix:
            raise refuse(f"'{source}' is neither box, shell nor a surface file (.stl, .obj, .ply)")
        written["file"] = Tree(source, place)
    for name, value in options.items():
        if value is None:
            continue
        if name == "size":
            written[name] = Tree([Tree(item, place) for item in value.replace(",", " ").split()], place)
        else:
            written[name] = Tree(value, place)
    try:
        return GEL.read(Tree(written, place), "gel")
    except SceneError as error:
        raise refuse(error.message) from None


def _facing(made, coat: np.ndarray) -> str:
    """Mean direction of the coat, as a text."""
    from engine.mesh.rest import triangle_normals

    mean = triangle_normals(made.vertices, coat).sum(axis=0)
    return "({:.2f}, {:.2f}, {:.2f})".format(*(mean / np.linalg.norm(mean) + 0.0))


def _report(output: Path, gel, made, coat: np.ndarray, held: np.ndarray) -> None:
    from engine.mesh.rest import triangle_areas
    from scenes.gel_mesh import quality

    found = quality(made.vertices, made.tets)
    for note in made.notes:
        console.print(escape(note), soft_wrap=True)
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    size = " x ".join(f"{1e3 * extent:.4g}" for extent in np.ptp(made.vertices, axis=0))
    area = 1e6 * triangle_areas(made.vertices, coat).sum()
    worst = found["worst_shape"]
    rows = (
        ("points, tetrahedra", f"{len(made.vertices)}, {len(made.tets)}"),
        ("extents", f"{size} mm"),
        ("volume of all", f"{1e9 * found['volume']:.5g} mm3"),
        ("mean, largest cell", f"{1e9 * found['mean_cell']:.3g}, {1e9 * found['largest_cell']:.3g} mm3 "
                               f"(asked for {1e9 * gel.cell_volume:.3g})"),
        ("shortest edge", f"{1e3 * found['shortest_edge']:.3g} mm"),
        ("shape, worst and mean", f"{worst:.2f}, {found['mean_shape']:.2f} (1 = regular, 0 = flat)"),
        ("coat", f"{len(coat)} triangles, {area:.4g} mm2, facing {_facing(made, coat)}"),
        ("held", f"{len(held)} points"),
    )  # fmt: skip
    for name, value in rows:
        table.add_row(name, value)
    console.print(table)
    if worst < 0.1:
        console.print("[yellow]Some cells are nearly flat: larger or smaller cells may be better shaped.[/yellow]")


@sensor.command()
def calibrate(
    images: Annotated[Path, typer.Argument(help="Folder: background.png, presses.csv and the pictures it names.")],
    name: Annotated[str, typer.Option("--sensor", "-s", metavar="NAME", help="Sensor (preset) that they show.")],
    pixel_pitch: Annotated[
        str, typer.Option("--pixel-pitch", metavar="LENGTH", help="One pixel on the coat, e.g. 29.5um.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the weights go, .npz.")],
    ball_radius: Annotated[
        str, typer.Option("--ball-radius", metavar="LENGTH", help="Of the ball pressed in.")
    ] = "2mm",
    thickness: Annotated[str, typer.Option("--thickness", metavar="LENGTH", help="Of the gel.")] = "4mm",
    hold_out: Annotated[
        str | None,
        typer.Option(
            "--hold-out",
            metavar="NAMES",
            help="Presses kept for the score, press_30,press_31: or press_30-press_35. Default: the last sixth.",
        ),
    ] = None,
    register: Annotated[
        bool, typer.Option("--register", help="Find the contacts in the pictures: the table's circles are rough.")
    ] = False,
    radii_times: Annotated[
        float, typer.Option("--radii-times", min=0.05, max=2.0, help="Contacts' radii over the table's.")
    ] = 1.0,
    iterations: Annotated[int, typer.Option("--iterations", min=10, max=5000, help="Of the training, at most.")] = 200,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Page with scores and pictures; default: beside FILE."),
    ] = None,
) -> None:
    """Learn a sensor's colours from pictures of a ball pressed into it.

    [bold]tacktile sensor calibrate presses -s gelsight --pixel-pitch 29.5um -o my_gelsight.npz[/bold]

    The ball is pressed into a simulated gel; a network learns the colours of the tilts that this gives, and is scored
    on presses that it has not seen. A sensor takes the file as `calibration: my_gelsight.npz`.
    """
    from app.session import quiet_warp

    quiet_warp()
    from app.calibrate.presses import PressError
    from app.calibrate.run import Order
    from app.calibrate.run import calibrate as run
    from app.calibrate.run import report as write_page

    page = report or output.with_suffix(".html")
    if output.suffix.lower() != ".npz":
        raise refuse(f"-o {output}: the file must end in .npz")
    for place in (output, page):
        if not place.absolute().parent.is_dir():
            raise refuse(f"{place}: there is no folder {place.absolute().parent}")
    sizes = [
        _length(option, text)
        for option, text in (
            ("--pixel-pitch", pixel_pitch), ("--ball-radius", ball_radius), ("--thickness", thickness)
        )
    ]  # fmt: skip
    try:
        order = Order(images, name, *sizes, _names(images, hold_out), register, radii_times, iterations)
        with _Bar() as bar:
            result = run(order, bar.show)
    except (PressError, ValueError, RuntimeError) as error:
        raise refuse(str(error)) from None
    result.calibration.save(output)
    write_page(result, order, page)
    for key, text in result.calibration.notes.items():
        console.print(f"{escape(key)}: {escape(text)}", soft_wrap=True)
    size = output.stat().st_size / 1e3
    console.print(f"saved {escape(str(output))} ({size:.0f} kB) and {escape(str(page))}", soft_wrap=True)


def _length(option: str, text: str) -> float:
    from scenes.units import parse_quantity

    try:
        value = parse_quantity(text, "length")
    except ValueError as error:
        raise refuse(f"{option}: {error}") from None
    if not value > 0.0:
        raise refuse(f"{option} is {text}; it must be greater than 0")
    return value


def _names(folder: Path, text: str | None) -> tuple[str, ...] | None:
    """Names of presses: separated by commas, with ranges in the order of the table."""
    from app.calibrate.presses import read_presses

    if text is None:
        return None
    there, found = list(read_presses(folder).presses), []
    for part in (p.strip() for p in text.split(",")):
        first, dash, last = part.partition("-") if part not in there else (part, "", "")
        for one in (first, last) if dash else (first,):
            if one not in there:
                raise ValueError(f"--hold-out: there is no press '{one}'; there are: {', '.join(there)}")
        found += there[there.index(first) : there.index(last or first) + 1]
    return tuple(found)


class _Bar:
    """A progress bar of stages: what is being done, and its share."""

    def __enter__(self):
        from app.progress import TerminalBar

        self._bar = TerminalBar(console, None)
        return self

    def show(self, what: str, share: float) -> None:
        self._bar.loading(what, min(share, 0.999))

    def __exit__(self, *_) -> None:
        self._bar.stop()
