from __future__ import annotations

import json

import numpy as np
import pytest

from devices.contract import Health, Sample, Status
from devices.mapping import MappingSettings, start_mapping, to_command
from devices.recorded import Recorded
from devices.registry import list_devices, open_device
from devices.scripted import Scripted, load_script

SCRIPT = """\
linear_speed: 0.1
segments:
  - {until: 1.0, twist: [0, 0, -1, 0, 0, 0], press: [record]}
  - {for: 0.5, gripper: 1, hold: [fine]}
  - {until: 2.5, twist: [0.5, 0, 0, 0, 0, 1], hold: [fine, clutch], press: [grip_toggle, label_success]}
"""


@pytest.fixture
def script(tmp_path):
    def write(text: str, name: str = "moves.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def play(device: Scripted, dt: float, until: float):
    samples, steps = [], round(until / dt)
    for step in range(steps):
        device.set_simulated_time(step * dt)
        samples.append(device.poll(now=1000.0 + step))
    return samples


def test_plays_in_simulated_time(script):
    samples = play(Scripted(script(SCRIPT)), 0.25, 3.0)
    np.testing.assert_array_equal([s.twist[2] for s in samples], [-1] * 4 + [0] * 8)
    np.testing.assert_array_equal([s.twist[0] for s in samples], [0] * 6 + [0.5] * 4 + [0] * 2)
    np.testing.assert_array_equal([s.gripper for s in samples], [0] * 4 + [1] * 2 + [0] * 6)
    assert [s.pressed for s in samples] == [
        ("record",),
        (),
        (),
        (),
        ("fine",),
        (),
        ("grip_toggle", "label_success", "clutch"),
        (),
        (),
        (),
        (),
        (),
    ]
    assert samples[10].released == ("clutch", "fine") and not samples[11].buttons
    assert [s.sequence for s in samples] == list(range(12))


def test_distance_does_not_hang_on_the_step(script):
    """1 s of full push at the script's 0.1 m/s is 0.1 m whatever dt, through the mapping that the script advises."""
    for dt in (1 / 30, 0.1, 0.01):
        device = Scripted(script(SCRIPT))
        settings = MappingSettings().with_advice(device.describe()["mapping"])
        state, z = start_mapping(settings), 0.0
        for sample in play(device, dt, 2.9):
            command, state = to_command(sample, device.status(), settings, state, now=sample.t_receive, dt=dt)
            z += command.twist[2] * dt
        assert z == pytest.approx(-0.1, rel=1e-9), dt


def test_a_long_step_gives_every_press_once(script):
    device = Scripted(script(SCRIPT))
    device.set_simulated_time(0.0)
    assert device.poll(0.0).pressed == ("record",)
    assert not device.finished
    device.set_simulated_time(9.0)
    assert device.poll(0.0).pressed == ("grip_toggle", "label_success")
    assert device.finished and device.status().message == "finished" and device.poll(0.0).pressed == ()


def test_reset_and_pause_of_the_simulation_do_not_wind_the_script_back(script):
    device = Scripted(script("segments: [{until: 1, press: reset}, {until: 2, twist: [1, 0, 0, 0, 0, 0]}]"))
    for time_sim in (5.0, 5.5, 5.5, 5.5, 0.0, 0.4):  # paused, then reset
        device.set_simulated_time(time_sim)
        sample = device.poll(0.0)
    assert device.time == pytest.approx(0.9) and sample.pressed == () and not sample.twist.any()
    device.set_simulated_time(0.6)
    assert device.poll(0.0).twist[0] == 1.0
    device.open()
    device.set_simulated_time(7.0)
    assert device.poll(0.0).pressed == ("reset",)


def test_json_and_csv_say_the_same(script):
    rows = [
        {"until": 1.0, "twist": [0, 0, -1, 0, 0, 0], "press": ["record"]},
        {"for": 0.5, "gripper": 1, "hold": ["fine"]},
    ]
    as_json = load_script(script(json.dumps({"segments": rows}), "moves.json"))
    as_csv = load_script(script("until,for,z,gripper,press,hold\n1.0,,-1,,record,\n,0.5,,1,,fine\n", "moves.csv"))
    assert as_json.segments == as_csv.segments and as_json.duration == 1.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "segments: [{until: 1, twist: [0, 0, 2, 0, 0, 0]}]",
            r"yaml:1: segment 0: twist\[2\] = 2; legal: .* from -1 to 1",
        ),
        ("segments: [{until: 1, twist: [0, 0]}]", r"twist = \[0, 0\]; legal: six numbers x y z rx ry rz"),
        ("segments:\n- {until: 1}\n- {until: 0.5}", r"yaml:3: segment 1: until = 0.5 s lies before .* \(1.0 s\)"),
        ("segments:\n- {until: 1, for: 1}", r"yaml:2: segment 0: give either `until` \(time\) or `for`"),
        ("segments:\n- {gripper: 1}", r"give either `until`"),
        ("segments:\n- {until: soon}", r"until = 'soon'; legal: a number from 0 to inf"),
        ("segments:\n- {until: .inf}", r"until = inf; legal"),
        ("segments:\n- {for: -1}", r"for = -1; legal: a number from 0"),
        ("segments:\n- {until: 1, gripper: true}", r"gripper = True; legal: a number from -1 to 1"),
        ("segments:\n- {until: 1, grip: 1}", r"unknown key 'grip'; legal: until, for, twist, gripper, press, hold"),
        ("segments:\n- {until: 1, press: jump}", r"press: unknown verb 'jump'; legal: clutch"),
        ("segments:\n- {until: 1, press: 3}", r"press = 3; legal: a list of verbs"),
        ("segments:\n- {until: 1, press: [pause]}", r"`pause` would stop the simulated clock"),
        ("segments: []", r"no segments; legal: one or more"),
        ("segments:\n- 3", r"yaml:1: segment 0: 3 is not a mapping"),
        ("moves: []", r"yaml:1: a script is a mapping with a list `segments`"),
        (
            "speed: 1\nsegments: [{until: 1}]",
            r"yaml:1: unknown key 'speed'; legal: segments, description, linear_speed",
        ),
        ("segments: [{until: 1}]\nlinear_speed: 0", r"yaml:2: linear_speed = 0; legal: a number from 1e-06 to 100"),
    ],
)
def test_slips_in_a_script_are_named(script, text, message):
    with pytest.raises(ValueError, match=message):
        load_script(script(text))


def test_slips_in_a_table_are_named(script):
    with pytest.raises(
        ValueError, match=r"csv:1: unknown column 'vx'; legal: until, for, x, y, z, rx, ry, rz, gripper"
    ):
        load_script(script("until,vx\n1,1\n", "moves.csv"))
    with pytest.raises(ValueError, match=r"csv:3: segment 1: twist\[0\] = 'fast'"):
        load_script(script("until,x\n1,1\n2,fast\n", "moves.csv"))
    with pytest.raises(ValueError, match=r"moves.txt: unknown kind of script '.txt'; legal: .yaml, .yml, .json, .csv"):
        load_script(script("", "moves.txt"))


def test_a_loop_that_forgets_the_time_is_told(script):
    with pytest.raises(RuntimeError, match="call set_simulated_time"):
        Scripted(script(SCRIPT)).poll(0.0)


# ---- recorded


def test_recorded_hands_out_samples_with_their_age():
    samples = [Sample(sequence=7, t_receive=3.0, pressed=("record",)), Sample(sequence=8, twist=np.ones(6))]
    device = Recorded(samples, [Status(Health.OK), Status(Health.LOST, "gone")], ages=[0.0, 0.7], description={"a": 1})
    first = device.poll(50.0)
    assert first.sequence == 7 and first.t_receive == 50.0 and device.status().ok
    second = device.poll(60.0)
    assert second.t_receive == pytest.approx(59.3) and device.status().message == "gone" and device.finished
    assert not device.poll(61.0).twist.any()
    assert device.open().ok and device.poll(0.0).sequence == 7
    assert device.describe() == {"a": 1, "name": "recording", "samples": 2}
    with pytest.raises(ValueError, match="1 ages for 2 samples; legal: as many as samples, or None"):
        Recorded(samples, ages=[0.0])


# ---- registry


def test_open_device_by_name(script):
    assert open_device("keyboard").status().ok
    assert open_device(f"scripted:{script(SCRIPT)}").script.duration == 2.5
    nobody = open_device("none")
    assert nobody.status().ok and not nobody.poll(1.0).twist.any()
    mouse = open_device("spacemouse:no-such-serial")
    try:
        assert not mouse.status().ok and mouse.status().message
    finally:
        mouse.close()


@pytest.mark.parametrize("spec", ["joystick", "scripted", "scripted:", "keyboard:2", "spacemouse:", "", "none:x"])
def test_unknown_device_lists_what_is_available(spec):
    with pytest.raises(ValueError) as error:
        open_device(spec)
    text = str(error.value)
    assert f"unknown input device {spec!r}; available: keyboard (" in text
    assert "spacemouse (" in text and "scripted:FILE (" in text and "none (" in text


def test_list_devices():
    names = [entry.name.split(":")[0] for entry in list_devices()]
    assert names[0] == "keyboard" and "spacemouse" in names and names[-2:] == ["scripted", "none"]
