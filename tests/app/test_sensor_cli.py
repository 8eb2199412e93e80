"""The command `tacktile sensor mesh`."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from app.cli import app
from engine.mesh.rest import tet_volumes
from engine.mesh.shapes import box_surface
from scenes.vtk import read_vtk
from tests.scenes.mesh_writers import write_stl


def invoke(*args) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["sensor", "mesh", *map(str, args)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, " ".join(result.output.split())


def test_a_box_is_meshed_and_reported(tmp_path):
    out = tmp_path / "pad.vtk"
    code, text = invoke("box", "--size", "25 mm,20mm,4mm".replace(" ", ""), "-v", "2 mm3", "-o", out)
    assert code == 0, text
    vertices, tets = read_vtk(out.read_bytes(), out, None)
    volume = tet_volumes(vertices, tets)
    assert volume.sum() == pytest.approx(2e-6) and volume.min() > 0.0
    assert f"points, tetrahedra {len(vertices)}, {len(tets)}" in text
    assert f"mean, largest cell {1e9 * volume.mean():.3g}" in text and "(asked for 2)" in text
    assert volume.mean() == pytest.approx(2e-9, rel=0.3)
    assert "coat" in text and "500 mm2" in text and "gel: {type: mesh, file: pad.vtk, units: m}" in text


def test_a_shell_takes_radii(tmp_path):
    out = tmp_path / "dome.vtk"
    shape = ("--size", "20mm 16mm", "--thickness", "2mm", "--radius-y", "25mm")
    code, text = invoke("shell", *shape, "-v", "4mm3", "-o", out)
    assert code == 0, text
    vertices, _ = read_vtk(out.read_bytes(), out, None)
    assert vertices[:, 2].max() == 0.0 and np.ptp(vertices[:, 2]) > 2.5e-3


def test_a_surface_is_filled(tmp_path, monkeypatch):
    pytest.importorskip("pytetwild")
    monkeypatch.setenv("TACKTILE_CACHE", str(tmp_path))
    monkeypatch.setattr("scenes.gel_mesh.FILLS", 1)
    write_stl(tmp_path / "gel.stl", *box_surface((0.012, 0.010, 0.004)))
    out = tmp_path / "gel.vtk"
    code, text = invoke(tmp_path / "gel.stl", "--units", "m", "-v", "4mm3", "-o", out)
    assert code == 0 and "filled with" in text and "shape, worst and mean" in text, text
    vertices, tets = read_vtk(out.read_bytes(), out, None)
    assert tet_volumes(vertices, tets).sum() == pytest.approx(4.8e-7, rel=0.02)


@pytest.mark.parametrize("args, told", [
    (["box", "-o", "pad.stl"], "the file must end in .vtk"),
    (["box", "-o", "nowhere/pad.vtk"], "there is no folder nowhere"),
    (["dome", "-o", "pad.vtk"], "'dome' is neither box, shell nor a surface file"),
    (["box", "-v", "2 mm", "-o", "pad.vtk"], "gel.cell_volume: '2 mm'"),
    (["box", "--size", "20mm 20mm", "-o", "pad.vtk"], "gel.size is a list of 2; it must be a list of 3"),
    (["box", "--size", "20mm 20mm 0", "-o", "pad.vtk"], "gel.size[2] is 0; it must be greater than 0"),
    (["box", "--thickness", "2mm", "-o", "pad.vtk"], "unknown key 'thickness' in gel"),
    (["gone.stl", "-o", "pad.vtk"], "gel.file: there is no file"),
])  # fmt: skip
def test_mistakes_are_told_in_a_sentence(args, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, text = invoke(*args)
    assert code == 2 and told in text and "Traceback" not in text, text
    assert not list(tmp_path.glob("*.vtk"))
