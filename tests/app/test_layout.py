"""The layout is pure: at every size nothing overlaps, nothing leaves the window, everything is large enough."""

import itertools

import pytest

from app.view.layout import PANELS, Rect, compute_layout

SIZES = [(960, 540), (1280, 720), (1366, 768), (1920, 1080), (2560, 1440), (3440, 1440), (3840, 2160)]
SOLID = ("status", "timeline", "view", *PANELS)  # legend, view bar and banner lie over the view by design


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scale", [0.0, 1.0, 1.5])
@pytest.mark.parametrize("collapsed", [(), ("task",), ("teleop", "record"), PANELS])
def test_nothing_overlaps_or_leaves_the_window(size, scale, collapsed):
    layout = compute_layout(*size, scale, collapsed)
    rects = {name: layout[name] for name in SOLID}
    for (a, one), (b, other) in itertools.combinations(rects.items(), 2):
        assert not one.overlaps(other), f"{a} {one} overlaps {b} {other}"
    for name, rect in layout.rects.items():
        if name != "banner":
            assert rect.x >= 0 and rect.y >= 0 and rect.right <= size[0] + 0.5 and rect.bottom <= size[1] + 0.5, name
        assert rect.width > 0 and rect.height > 0, name


@pytest.mark.parametrize("size", SIZES[1:])
def test_the_view_keeps_most_of_the_width(size):
    layout = compute_layout(*size)
    assert layout["view"].width >= 0.38 * size[0]
    assert layout["view"].height >= 0.7 * size[1]


def test_view_bar_and_legend_lie_inside_the_view_and_apart():
    layout = compute_layout(1280, 720)
    view, bar, legend = layout["view"], layout["view_bar"], layout["legend"]
    for inner in (bar, legend):
        assert inner.x >= view.x and inner.right <= view.right + 0.5
        assert inner.y >= view.y and inner.bottom <= view.bottom + 0.5
    assert not bar.overlaps(legend)


def test_a_collapsed_panel_gives_its_height_to_the_others():
    both, one = compute_layout(1600, 900), compute_layout(1600, 900, collapsed=["task"])
    assert one["task"].height < 40 * one.scale
    assert one["teleop"].height > both["teleop"].height
    assert one["record"].bottom == pytest.approx(both["record"].bottom)


def test_a_hidden_panel_leaves_no_gap():
    layout = compute_layout(1600, 900, hidden=["tactile"])
    assert "tactile" not in layout
    assert layout["tape"].y == compute_layout(1600, 900)["tactile"].y


def test_small_windows_drop_the_columns_and_keep_the_view():
    layout = compute_layout(800, 500)
    assert not any(name in layout for name in PANELS)
    assert layout["view"].width > 750


def test_scale_grows_with_the_window():
    scales = [compute_layout(*size).scale for size in ((1280, 720), (1920, 1080), (3840, 2160))]
    assert scales == pytest.approx([1.0, 1.25, 2.0], abs=0.03)


def test_an_unknown_panel_is_named_with_the_legal_ones():
    with pytest.raises(ValueError, match=r"no panel is called 'tactle'; panels: task, teleop"):
        compute_layout(1280, 720, collapsed=["tactle"])


def test_rectangles_that_only_touch_do_not_overlap():
    assert not Rect(0, 0, 10, 10).overlaps(Rect(10, 0, 10, 10))
    assert Rect(0, 0, 10, 10).overlaps(Rect(9, 9, 10, 10))
