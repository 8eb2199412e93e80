"""The `tacktile` command: what can be asked, how it is read, what is said when it cannot be done."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.core import TyperGroup

from app.devices_cli import devices
from app.episodes_cli import episodes
from app.sensor_cli import sensor
from app.tape_cli import tape

DEFAULT_SCENE = "box_packaging"
USAGE_ERROR = 2

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)


class DefaultIsRun(TyperGroup):
    """`tacktile`, `tacktile SCENE ...` and `tacktile --headless ...` mean `tacktile run ...`."""

    def parse_args(self, ctx, args):
        own = {"--help", "-h", "--version", "--install-completion", "--show-completion"}
        if not args or (args[0] not in self.commands and args[0] not in own):
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=DefaultIsRun,
    add_completion=True,
    pretty_exceptions_show_locals=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Teleoperate packaging scenes with real adhesive tape, feel what the finger feels, record demonstrations.\n\n"
    f"Without a command it runs a scene: [bold]tacktile[/bold] is [bold]tacktile run {DEFAULT_SCENE}[/bold].",
)


def refuse(text: str) -> typer.Exit:
    """Says what is wrong, without a traceback; raise what it returns."""
    errors.print(f"[bold red]error:[/bold red] {escape(text)}", soft_wrap=True)
    return typer.Exit(USAGE_ERROR)


def _complete_scene(incomplete: str) -> list[tuple[str, str]]:
    from scenes.config import list_scenes

    return [(name, text) for name, _, text in list_scenes() if name.startswith(incomplete)]


def _complete_input(incomplete: str) -> list[str]:
    names = ("keyboard", "spacemouse", "gamepad", "xr", "xr-hand", "hands", "network", "scripted:", "none", "right=")
    return [name for name in names if name.startswith(incomplete)]


def _show_version(wanted: bool) -> None:
    if wanted:
        console.print(f"tacktile {version()}")
        raise typer.Exit()


def version() -> str:
    """Version of the installed package, or of pyproject.toml beside the sources."""
    from importlib import metadata

    try:
        return metadata.version("tacktile")
    except metadata.PackageNotFoundError:
        for line in (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf-8").splitlines():
            if line.startswith("version"):
                return line.split('"')[1]
        return "unknown"


@app.callback()
def root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    pass


@app.command()
def run(
    scene: Annotated[
        str, typer.Argument(help="Name of a scene that ships, or a .yaml file.", autocompletion=_complete_scene)
    ] = DEFAULT_SCENE,
    input_: Annotated[
        str | None,
        typer.Option(
            "--input",
            "-i",
            metavar="DEVICE",
            autocompletion=_complete_input,
            help="keyboard, spacemouse, gamepad, xr, xr-hand, hands, network, scripted:FILE or none; or by role: "
            "right=xr,left=xr:left,pedal=gamepad. Default: the keyboard; headless the scene's script.",
        ),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record", "-r", metavar="DIR", help="Folder for episodes. Default: one a scene in your data folder."
        ),
    ] = None,
    headless: Annotated[
        bool,
        typer.Option(
            "--headless", help="No window: progress bar, pictures and an episode. Also chosen when there is no display."
        ),
    ] = False,
    compute: Annotated[
        str | None,
        typer.Option("--compute", "-c", metavar="WHERE", help="cuda:0 or cpu. Default: a GPU when there is one."),
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", "-n", min=1, help="End after this many physics steps.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            "-s",
            metavar="KEY=VALUE",
            help="Change a value of the scene, e.g. strip.width=19mm. May be repeated.",
        ),
    ] = None,
    worlds: Annotated[
        int | None, typer.Option("--worlds", min=1, help="Step this many worlds together, drawn by the scene.")
    ] = None,
    show: Annotated[int, typer.Option("--show", min=0, help="World that is seen and recorded.")] = 0,
    draw: Annotated[
        int | None, typer.Option("--draw", min=0, metavar="K", help="World K of the scene's draws, alone.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, metavar="N", help="Start as the scene's random draws of this seed place things."),
    ] = None,
    no_record: Annotated[bool, typer.Option("--no-record", help="Headless: leave no episode.")] = False,
    no_pictures: Annotated[bool, typer.Option("--no-pictures", help="Headless: leave no pictures.")] = False,
    state_log: Annotated[
        Path | None,
        typer.Option("--state-log", metavar="FILE", help="Write what happens there, a line of JSON a frame."),
    ] = None,
) -> None:
    """Open a scene and drive it (the default command).

    [bold]tacktile run tactile_press --input spacemouse[/bold]
    [bold]tacktile run strip_on_box --headless --steps 300 --set strip.width=24mm[/bold]
    """
    from app.runs import RunOptions, start_run

    options = RunOptions(
        scene=scene, input=input_, record=record, headless=headless, compute=compute, steps=steps,
        overrides=tuple(set_ or ()), no_record=no_record, no_pictures=no_pictures,
        state_log=state_log, worlds=worlds, show=show, draw=draw, seed=seed,
    )  # fmt: skip
    try:
        code = start_run(options, console)
    except (ValueError, FileNotFoundError) as error:  # SceneError and bad options: a sentence, not a traceback
        raise refuse(str(error)) from None
    raise typer.Exit(code)


@app.command()
def scenes() -> None:
    """List the scenes that ship."""
    from scenes.config import list_scenes

    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for name, _, description in list_scenes():
        table.add_row(f"[bold]{escape(name)}[/bold]", escape(description))
    console.print(table)


app.add_typer(devices, name="devices")
app.add_typer(episodes, name="episodes")
app.add_typer(tape, name="tape")
app.add_typer(sensor, name="sensor")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []})
def bench(ctx: typer.Context) -> None:
    """Measure: the same as `python -m bench CASE...`; `--list` names the cases."""
    import importlib.util
    import runpy

    if importlib.util.find_spec("bench.__main__") is None:
        raise refuse("the benchmarks are part of the source tree and are not installed here: run it in a checkout")
    sys.argv = ["bench", *ctx.args]
    runpy.run_module("bench", run_name="__main__", alter_sys=True)


def main() -> None:
    """Entry point of the `tacktile` command."""
    app()
