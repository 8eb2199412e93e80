"""The frame around benchmarks: names, lines, exit status."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from bench import __main__ as command
from bench import registry


def test_every_case_has_a_description_and_a_run(capsys):
    assert command.main(["--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == list(registry.list_cases())
    assert "startup" in registry.list_cases()
    for name in registry.list_cases():
        case = registry.load_case(name)
        assert callable(case.run) and len(case.DESCRIPTION.splitlines()) == 1


def test_a_line_is_name_value_unit():
    lines: list[str] = []
    emit = registry.Emit(lines.append)
    emit("cloth20.ratio_to_mujoco", 2 / 3)
    emit("startup.cold_s", 12, "s")
    assert lines == ["cloth20.ratio_to_mujoco 0.666667 -", "startup.cold_s 12 s"]
    assert emit.count == 2
    for name, unit in (("two words", "s"), ("", "s"), ("name", "m / s")):
        with pytest.raises(ValueError, match=re.escape("must be one word: a line reads `name value unit`")):
            emit(name, 1.0, unit)


def test_wrong_names_list_the_right_ones(capsys):
    for arguments, said in (
        (["nothing"], "no case 'nothing'; available: "),
        (["startup", "--compute", "cuda:77"], "--compute cuda:77: not on this machine; available: cpu"),
    ):
        with pytest.raises(SystemExit) as ended:
            command.main(arguments)
        assert ended.value.code == 2
        assert said in capsys.readouterr().err


def _cases(monkeypatch, **runs):
    monkeypatch.setattr(command, "list_cases", lambda: dict.fromkeys(runs, ""))
    monkeypatch.setattr(command, "load_case", lambda name: SimpleNamespace(DESCRIPTION=name, run=runs[name]))


def test_a_failing_case_does_not_stop_the_others(monkeypatch, capsys):
    def broken(emit, compute):
        emit("broken.first", 1.0)
        raise RuntimeError("out of tape")

    def absent(emit, compute):
        raise registry.Unavailable("needs a peer: make bench")

    def fine(emit, compute):
        emit.status("working")
        emit("fine.where", len(compute), "letters")

    _cases(monkeypatch, broken=broken, absent=absent, fine=fine)
    assert command.main([]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines() == ["broken.first 1 -", "fine.where 3 letters"]  # results alone on standard output
    assert "out of tape" in err and "absent: needs a peer: make bench" in err and "fine: working" in err
    assert "not measured: broken, absent" in err
    assert command.main(["fine"]) == 0
