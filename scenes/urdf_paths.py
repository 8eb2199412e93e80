"""Where the mesh files of a URDF are: relative names, `package://`, and the folders that a robot may read from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from scenes.errors import Place, SceneError, did_you_mean, legal_list

PACKAGE = "package://"
CLIMB = 4  # folders above the URDF in which a package of the right name is looked for
MAX_NAME = 1000  # characters of a file name


def find_mesh(
    name: str,
    urdf: Path,
    owner: str,
    packages: Mapping[str, Path] | None = None,
    substitute: Sequence[tuple[str, str]] = (),
    suffixes: Sequence[str] = (".stl", ".obj", ".ply", ".dae"),
    place: Place | None = None,
) -> Path:
    """The file of a mesh name in a URDF.

    owner: "collision of link 'palm'", for messages. packages: folder by package name. substitute: (text, by what)
    replaced in the name, in order. A name leads into the URDF's folder, the folder above it (`../meshes`), or a
    package; a file elsewhere is refused, whatever `..` or links lead there. Raises SceneError naming link, file and
    every place that was tried.
    """
    wanted = name
    for old, new in substitute:
        wanted = wanted.replace(old, new)
    packages = packages or {}
    said = f"{owner}: mesh '{name}'" + (f" (read as '{wanted}')" if wanted != name else "")
    if not wanted or len(wanted) > MAX_NAME or "\x00" in wanted:
        raise SceneError(f"{owner}: a mesh name of {len(wanted)} characters; legal: 1 to {MAX_NAME}", place)
    tries, roots = _candidates(unquote(wanted), urdf, packages, said, place)
    if Path(wanted).suffix.lower() not in suffixes:
        raise SceneError(f"{said} has an ending that is not read; legal endings: {legal_list(suffixes)}", place)
    outside = None
    for path in tries:
        resolved = path.resolve()
        if not any(resolved.is_relative_to(root) for root in roots):
            outside = outside or resolved
        elif resolved.is_file():
            return resolved
    if outside is not None:
        raise SceneError(
            f"{said} leads to {outside}, outside the robot's folders: {legal_list(roots)}. Name a folder under "
            "`packages` to allow it",
            place,
        )
    raise SceneError(f"{said} is not there; looked for {legal_list(tries)}{_near(tries)}", place)


def _candidates(name: str, urdf: Path, packages: Mapping[str, Path], said: str, place: Place | None):
    """(paths to try, folders that may be read)."""
    folder = urdf.parent.resolve()
    roots = [folder, folder.parent, *(Path(p).resolve() for p in packages.values())]
    if name.startswith(PACKAGE):
        package, _, rest = name[len(PACKAGE) :].partition("/")
        if package in packages:
            return [Path(packages[package]) / rest], roots
        above = [up for up in (folder, *folder.parents)[: CLIMB + 1] if up != up.parent]  # never all of the disk
        found = [up for up in above if up.name == package]
        found += [up / package for up in above if package.strip(".") and (up / package).is_dir()]
        tries = [p / rest for p in (*found, folder, folder.parent)]
        return tries, [*roots, *(p.resolve() for p in found)]
    if name.startswith("file://"):
        return [Path(name[len("file://") :])], roots
    if "://" in name:
        raise SceneError(f"{said} is an address; meshes are read from files and package:// only", place)
    return [folder / name], roots


def _near(tries: Sequence[Path]) -> str:
    """What lies in the folder that was looked in, to find a slip of the pen."""
    folder = tries[0].parent
    if not folder.is_dir():
        existing = next((up for up in folder.parents if up.is_dir()), None)
        below = sorted(p.name for p in existing.iterdir() if p.is_dir())[:12] if existing else []
        return f"; there is no folder {folder}" + (f" (in {existing}: {legal_list(below)})" if below else "")
    names = sorted(p.name for p in folder.iterdir() if p.is_file())
    shown = legal_list(names[:12]) + (", ..." if len(names) > 12 else "")
    return f"{did_you_mean(tries[0].name, names)}; files there: {shown}" if names else ""
