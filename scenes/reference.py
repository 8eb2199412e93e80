"""The schema reference, written from the tables that read the files: `python -m scenes.reference > docs/scenes.md`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from scenes.adhesion import ADHESIVE_TABLES
from scenes.reading import Flag, ListOf, MapOf, OrNone, Quantity, Spec, Table, Variant, Vector
from scenes.schema import ENTITY_TABLES, SCENE
from scenes.sensors import SENSOR, SENSOR_FILE, FacesSpec
from scenes.tables import SURFACE_TABLES
from scenes.units import UNITS, legal_units, si_unit

INTRODUCTION = """\
# Scene files

A scene is one YAML file. `tacktile run scenes/strip_on_box.yaml` opens it; `tacktile scenes` lists those that ship.
This page is generated from the tables that read the files (`python -m scenes.reference > docs/scenes.md`), and a test
compares the two.

```yaml
include: parts/table.yaml              # merged below this file; a list is read in order, later ones win
description: A strip over a table edge
options: {dt: 1/30 s}
entities:
  strip:
    type: strip
    length: 280 mm
    width: 48 mm
    position: [0, 0, 0.4 mm]
```

## How values are written

* Numbers are SI: `0.019`. A number may carry a unit: `19 mm`, `1.5 GPa`, `30 deg`; a fraction is a number: `1/30 s`.
  `1e9` is a number too.
* A wrong key, type or unit, a missing file or an unknown name stops the load. The message names file, line and column,
  what is wrong, and the legal values.
* `include` merges mappings key by key; lists and single values are replaced. Files are found relative to the file that
  names them. Cycles are refused; at most 32 files, 8 levels deep, 1 MiB each.
* `--set path=value` replaces one value from the command line, with the same checks: `--set strip.width=0.019`,
  `--set options.dt=0.01`, `--set "camera.eye=[0.3, 0, 0.2]"`. The path starts at a section or at an entity's name;
  a number chooses an item of a list (`--set strip.attach.0.body=puller`).
* `type` chooses the table of an entity and of a shape.

## Frames

World: metres, z up, right-handed. An entity's own frame is placed by `position` and `rotation` (about the world's x,
then y, then z). Strips and sheets lie in their x-y plane; boxes, cylinders and spheres are centred; a cardboard box
stands on its origin; a gripper's origin lies between its finger tips, fingers point along its -z and close along x; a
roll's origin is the middle of its core (or, with `origin: tip`, of its free end), its axis is y and its free end leaves
the top along +x, adhesive below; a robot's origin is the frame of its root link.

## Tape

```yaml
entities:
  roll:
    type: roll
    preset: cloth_19mm            # turns, free_length, width, .. replace single numbers
    turns: 8
    model: Coh-R                  # Coh-F, Coh-R, Bond-F, Bond-R
    adhesive: {law: front, work: 100 J/m2}
    attach: [{side: +x, body: hand}]
adhesion:                         # everything else that sticks
  - {mesh: roll, partners: [box], adhesive: {law: front, work: 263 J/m2}}
```

A roll sticks to itself and its core without being asked. `adhesion` adds what else the sticky side meets; a mesh has
one sticky side. With rolls, `options.candidate_slack: 0` is a quarter of the tape's dhat.

## Meshes from files

Surfaces: STL (binary or text), OBJ (quads and n-gons are triangulated), PLY. Tetrahedra: legacy VTK (text or binary),
Gmsh MSH 2.2 and 4.1 (text). Write `units`. Without it metres are assumed and said, and a mesh larger than 2 m or
smaller than 0.1 mm is refused, since it is most likely in other units. Defects are named with element and place;
`repair: true` merges vertices nearer than a millionth of the size, drops degenerate and double elements, turns
inside-out surfaces and inverted tetrahedra, fills small holes, and says what it did.
A surface becomes a solid with `tetrahedralise: {edge_length: 2 mm}`; that needs `pip install "pytetwild[all]"`.

"""


SENSORS = """\
## Sensor files

Tactile sensors of a robot, in a file beside it. The scene's `pad` takes the same keys, `held_by` in place of `link`.

```yaml
sensors:
  left_tip:
    preset: gelsight              # gelsight, gelsight_mini or digit; further keys replace its own
    link: left_finger
    position: [0, 0, 45 mm]       # of the gel frame in the link frame
    rotation: [90 deg, 0, 180 deg]
    gel: {type: mesh, file: meshes/pad.vtk, units: m}
    held: {link: true}            # faces that lie on the link
```

A gel is a `box`, a curved `shell`, a closed `surface` to be filled, or a tet `mesh`; `tacktile sensor mesh` makes one
and reports its quality. Faces are chosen by a side (`+z`) or by a mapping of conditions, all of which must hold.

"""


def reference() -> str:
    """The whole page as Markdown."""
    parts = [INTRODUCTION, "## The file\n\n", *_table(SCENE)]
    parts.append("## Entities\n\nEverything in the scene, by name; `type` is one of these.\n\n")
    for name, table in ENTITY_TABLES.items():
        parts += [f"### `type: {name}`\n\n", *_table(table)]
    parts.append("## Shapes\n\nSurfaces of bodies and statics; `type` is one of these.\n\n")
    for name, table in SURFACE_TABLES.items():
        parts += [f"### `type: {name}` (shape)\n\n", *_table(table)]
    parts.append("## Adhesives\n\nHow two surfaces stick; `law` is one of these. Figures: docs/physics.\n\n")
    for name, table in ADHESIVE_TABLES.items():
        parts += [f"### `law: {name}`\n\n", *_table(table)]
    parts += [SENSORS, *_table(SENSOR_FILE), "### sensor\n\n", *_table(SENSOR)]
    parts.append("## Further tables\n\n")
    listed = (*ENTITY_TABLES.values(), *SURFACE_TABLES.values(), *ADHESIVE_TABLES.values())
    done = {SCENE.title, SENSOR.title, *(t.title for t in listed)}
    for table in _nested(SCENE):
        if table.title not in done:
            done.add(table.title)
            parts += [f"### {table.title}\n\n", *_table(table)]
    parts.append("## Units\n\n| quantity | SI | also |\n|---|---|---|\n")
    for dimension in UNITS:
        others = ", ".join(f"`{u}`" for u in legal_units(dimension) if u != si_unit(dimension))
        parts.append(f"| {dimension} | `{si_unit(dimension)}` | {others or '-'} |\n")
    return "".join(parts)


def _table(table: Table) -> Iterator[str]:
    doc = (table.target.__doc__ or "").strip()
    if table.specs is None and doc:
        yield " ".join(doc.split()) + "\n\n"
    yield "| key | value | default | meaning |\n|---|---|---|---|\n"
    for key, (spec, doc, default) in table.fields().items():
        yield f"| `{key}` | {spec.describe()} | {_default(default, spec)} | {doc} |\n"
    yield "\n"


def _default(value, spec: Spec) -> str:
    if value is dataclasses.MISSING:
        return "required"
    if value is None:
        return "none"
    if isinstance(spec, Variant) and hasattr(value, spec.key):
        return f"{spec.key} {getattr(value, spec.key)}"
    if isinstance(spec, Table | MapOf) and (isinstance(value, dict) or dataclasses.is_dataclass(value)):
        changed = spec.defaults if isinstance(spec, Table) else {}
        listed = ", ".join(
            f"{key} {_default(item, Flag() if isinstance(item, bool) else spec)}" for key, item in changed.items()
        )
        return listed or ("see there" if isinstance(spec, Table) else "empty")
    if isinstance(spec, Flag):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return f"[{', '.join(_number(v) for v in value)}]" if value else "empty"
    return _number(value) if value != "" else "empty"


def _number(value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _nested(spec: Spec) -> Iterator[Table]:
    """All tables under a spec, in the order in which a reader meets them."""
    if isinstance(spec, Table):
        yield spec
        for inner, _, _ in spec.fields().values():
            yield from _nested(inner)
    elif isinstance(spec, Variant):
        for table in spec.tables.values():
            yield from _nested(table)
    elif isinstance(spec, FacesSpec):
        yield spec.table
    elif isinstance(spec, Vector | ListOf | MapOf | OrNone) and not isinstance(spec.item, Quantity):
        yield from _nested(spec.item)


if __name__ == "__main__":
    print(reference(), end="")
