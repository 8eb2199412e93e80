"""Surfaces that start crossing, touching or nested are named with the closest pair, the place and the depth."""

import numpy as np
import pytest

from engine import ContactMaterial, ModelBuilder, ShellMaterial
from engine.builder import start_check
from engine.mesh import shapes
from engine.mesh.checks import MeshError
from tests.engine.builder.builder_scenes import pose

BOX = shapes.box_surface((0.1, 0.1, 0.1))


def _two_boxes(height, contact=None, other=None, turn_about=0.0):
    b = ModelBuilder()
    b.add_static("table", *BOX, contact or ContactMaterial())
    b.add_body("crate", *BOX, other or contact or ContactMaterial(), mass=1.0, transform=pose(0.03, 0.02, 0.1 + height))
    return b


def test_apart_is_fine():
    assert _two_boxes(1e-5).finalize().warnings == ()


def test_crossing_names_both_meshes_the_pair_the_place_and_the_depth():
    text = (
        r"mesh '(crate|table)', edge \[\d+, \d+\]: starts crossing triangle \d+ of mesh '(table|crate)' at \(.*\) m, "
        r"2 mm deep \(\d+ such pairs\)\. Legal: start them apart, with a gap of more than 0 mm"
    )
    with pytest.raises(MeshError, match=text):
        _two_boxes(-0.002).finalize()
    assert len(_two_boxes(-0.002).finalize(check_start=False).meshes) == 2


@pytest.mark.parametrize("scale", [1e-2, 1.0, 100.0])
def test_exactly_touching_is_refused_at_every_scale(scale):
    b = ModelBuilder()
    v, t = BOX
    b.add_static("table", scale * v, t)
    b.add_body("crate", scale * v, t, mass=1.0, transform=pose(0.03 * scale, 0.02 * scale, 0.1 * scale))
    with pytest.raises(
        MeshError, match="starts touching .* the surfaces are .* mm apart, their half thicknesses sum to 0 mm"
    ):
        b.finalize()


def test_thickness_counts():
    thick, thin = ContactMaterial(half_thickness=1e-3), ContactMaterial(half_thickness=5e-4)
    with pytest.raises(
        MeshError, match=r"are 1.2 mm apart, their half thicknesses sum to 1.5 mm, so they are 0.3 mm too deep"
    ):
        _two_boxes(1.2e-3, thick, thin).finalize()
    _two_boxes(1.51e-3, thick, thin).finalize()


def test_other_offending_pairs_are_listed():
    b = _two_boxes(-0.002)
    b.add_body("lid", *BOX, mass=1.0, transform=pose(0.04, 0.04, 0.197))  # 1 mm into the crate
    with pytest.raises(MeshError, match=r"2 mm deep \(\d+ such pairs\); also 'crate' and 'lid'\. Legal"):
        b.finalize()


def test_closest_element_is_in_the_words_of_its_own_mesh():
    """A vertex 0.1 mm over the middle of a triangle, thickness 1 mm: vertex and triangle carry local ids."""
    b = ModelBuilder()
    b.add_static("floor", *shapes.grid_mesh(1.0, 1.0, 1, 1))
    spike = np.array([[0.2, -0.1, 1e-4], [0.3, -0.1, 0.2], [0.2, 0.05, 0.2], [0.1, -0.1, 0.2]])
    b.add_solid("spike", spike, [[0, 1, 2, 3]], contact=ContactMaterial(half_thickness=1e-3))
    with pytest.raises(MeshError) as caught:
        b.finalize()
    assert caught.value.mesh == "spike" and caught.value.element == "vertex 0"
    assert "starts touching triangle 0 of mesh 'floor' at (0.2, -0.1, 0.0001) m" in caught.value.message


def test_a_sheet_folded_through_itself():
    v, t = shapes.strip_mesh(0.2, 0.05, 4)
    angle = -0.5 + (v[:, 0] / 0.2 + 0.5) * (np.pi + 1.0)
    rolled = 0.05 * np.column_stack([np.sin(angle), v[:, 1] / 0.05 + 0.1 * angle, np.sin(2.0 * angle)])  # a loop
    b = ModelBuilder()
    b.add_shell("tape", rolled, t, ShellMaterial())
    with pytest.raises(MeshError, match="mesh 'tape', edge .* starts crossing triangle .* of mesh 'tape'"):
        b.finalize()
    b = ModelBuilder()
    b.add_shell("tape", rolled, t, ShellMaterial(), ContactMaterial(self_collision=False))
    b.finalize()


def test_what_never_touches_may_overlap():
    b = ModelBuilder()
    b.add_static("a", *BOX)
    b.add_static("b", *BOX)  # two statics
    b.add_body("c", *BOX, ContactMaterial(layer=3), mass=1.0)
    b.ignore_contact("a", "c")
    b.ignore_layers(0, 3)
    b.finalize()


def test_a_body_may_overlap_itself():
    v, t = BOX
    b = ModelBuilder()
    b.add_body("bracket", np.vstack([v, v + [0.03, 0.02, 0.04]]), np.vstack([t, t + len(v)]), mass=1.0)
    b.finalize()


def test_glued_vertices_do_not_count_as_touching():
    b = ModelBuilder()
    b.add_body("plate", *BOX, mass=1.0)
    v, m = shapes.box_tets(4, 4, 1, (0.04, 0.04, 0.01))
    b.add_solid("pad", v + [0, 0, 0.055], m)
    with pytest.raises(MeshError, match="starts touching"):
        b.finalize()
    b.attach("pad", b.parts["pad"].vertices[:, 2] < 0.0501, "plate")
    b.finalize()


def test_nesting_is_a_warning():
    b = ModelBuilder()
    b.add_static("crate", *BOX)
    b.add_body("ball", *shapes.icosphere(0.01, 1), mass=0.1)
    model = b.finalize()
    assert model.warnings == ("mesh 'ball' starts wholly inside the closed mesh 'crate'; contact will keep it there",)
    b.finalize()
    assert len(b.model_warnings) == 1


def test_millimetres_are_a_warning():
    b = ModelBuilder()
    b.add_body("peg", *shapes.box_surface((20.0, 20.0, 50.0)), mass=0.1)
    warnings = b.finalize().warnings
    assert "mesh 'peg' is 50 m across: are its numbers millimetres?" in warnings[0]
    assert "is the whole model in millimetres?" in warnings[1]


def test_many_pairs_are_measured_piece_by_piece_in_order():
    rows = np.arange(250_001)[:, None]
    pieces = start_check._pieces(rows)
    assert max(map(len, pieces)) <= 100_000
    assert np.array_equal(np.concatenate(pieces), rows)
    assert [len(piece) for piece in start_check._pieces(rows[:0])] == [0]
