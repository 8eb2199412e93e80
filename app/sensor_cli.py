"""`tacktile sensor`: mesh the pad of a tactile sensor."""

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
        coat, held = find_faces("pad", Sensor(link="link", gel=gel), made)
        write_vtk(output, made.vertices, made.tets, f"{source} for a tactile sensor")
    except (SceneError, OSError) as error:
        raise refuse(str(error)) from None
    finally:
        bar.stop()
    _report(output, gel, made, coat, held)


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
        ("coat", f"{len(coat)} triangles, {area:.4g} mm2"),
        ("held", f"{len(held)} points"),
    )  # fmt: skip
    for name, value in rows:
        table.add_row(name, value)
    console.print(table)
    if worst < 0.1:
        console.print("[yellow]Some cells are nearly flat: larger or smaller cells may be better shaped.[/yellow]")
    console.print(escape(f"In a sensor file:  gel: {{type: mesh, file: {output.name}, units: m}}"), soft_wrap=True)
