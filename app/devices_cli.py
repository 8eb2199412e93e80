"""`tacktile devices`: what could drive, what each device does by verb, and what stands in the way."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.core import TyperGroup

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)
COLORS = {"OK": "green", "STALE": "yellow", "NOT_FOUND": "yellow"}


class DefaultIsList(TyperGroup):
    """`tacktile devices` means `tacktile devices list`."""

    def parse_args(self, ctx, args):
        if not args or (args[0] not in self.commands and args[0] not in ("--help", "-h")):
            args = ["list", *args]
        return super().parse_args(ctx, args)


devices = typer.Typer(cls=DefaultIsList, help="List input devices, look what is wrong with them, see what does what.")


def _word(health: str) -> str:
    return f"[{COLORS.get(health, 'red')}]{health.replace('_', ' ')}[/]"


@devices.command("list")
def list_all() -> None:
    """List input devices, whether they answer, and what to do when one does not (the default)."""
    from devices.registry import list_devices

    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for entry in list_devices():
        message = entry.status.message or entry.description
        health = _word(entry.status.health.value)
        table.add_row(f"[bold]{escape(entry.name)}[/bold]", health, escape(message))
    console.print(table)


@devices.command()
def doctor(
    kinds: Annotated[
        list[str] | None, typer.Argument(help="keyboard, spacemouse, gamepad, xr, hands, network. Default: all.")
    ] = None,
) -> None:
    """Say what is there, what is wrong, and the exact line that mends it.

    Ends with status 1 when a kind that was named has something wrong.
    """
    from devices.doctor import examine, machine

    wrong = False
    try:
        found = examine(tuple(kinds or ()))
        console.print(escape(machine()), style="dim", soft_wrap=True)
        for finding in found:
            wrong |= not finding.ok
            head = f"[bold]{escape(finding.kind)}[/bold] {escape(finding.what)}: {_word(finding.status.health.value)}"
            console.print(f"{head}  {escape(finding.status.message)}", soft_wrap=True)
            for line in finding.fix.splitlines():
                console.print(f"    {escape(line)}", style="cyan", soft_wrap=True)
    except ValueError as error:
        errors.print(f"[bold red]error:[/bold red] {escape(str(error))}", soft_wrap=True)
        raise typer.Exit(2) from None
    if wrong and kinds:
        raise typer.Exit(1)


@devices.command()
def verbs() -> None:
    """Table of what does what, device by verb, with your own key map."""
    from app.settings import config_dir
    from devices.keymap import load_keymap
    from devices.verb_table import GROUPS, verb_table

    own = config_dir() / "keymap.yaml"
    for name, row in verb_table(load_keymap(own if own.is_file() else None)).items():
        cells = "   ".join(f"{group} [bold]{escape(row[group])}[/bold]" for group in GROUPS)
        console.print(f"[bold cyan]{escape(name):>10}[/]  {cells}", soft_wrap=True)
