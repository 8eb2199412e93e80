"""Tracked hands: geometry, filter, gate, mirror test, and the way from a camera's process to a Sample."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from devices import hand_geometry as hg
from devices import hands
from devices.contract import Health, Kind
from devices.hand_camera import AXES, message, side_of
from devices.hand_stream import GATE_ON, HandStream
from devices.hands import CameraHand
from devices.network import NetworkDevice
from devices.one_euro import OneEuro, smoothing
from devices.registry import open_device
from devices.rotations import matrix_from_quat
from devices.wire import message as line
from devices.wire import parse
from tests.devices import hand_model

ROOT = Path(__file__).resolve().parents[2]
OPENXR = Path(__file__).with_name("data") / "openxr_hand.json"


def openxr_stream():
    """(time, (26, 3)) recorded from an OpenXR runtime."""
    for t, row in json.loads(OPENXR.read_text())["frames"]:
        yield t, np.array(row).reshape(26, 3)


# ---- geometry


def test_the_model_hand_keeps_its_bones():
    lengths = np.array([hg.bone_lengths(points) for _, points in hand_model.stream()])
    assert np.ptp(lengths, axis=0).max() < 1e-3 and not any(hg.implausible(p) for _, p in hand_model.stream())


def test_hand_pose_moves_with_the_hand_and_ignores_the_fingers():
    flat, bent = hand_model.landmarks(), hand_model.landmarks((1.0,) * 4, 0.5, 1, 0.03)
    at = hg.hand_pose(flat)
    np.testing.assert_allclose(at, hg.hand_pose(bent), atol=1e-12)
    np.testing.assert_allclose(matrix_from_quat(at[3:]), np.eye(3), atol=1e-12)  # the model's own frame
    moved = hg.hand_pose(hand_model.placed(flat, (0.1, 0.2, 0.3), (0, 0, 0.5)))
    np.testing.assert_allclose(moved[:3], [0.1, 0.2, 0.3])
    np.testing.assert_allclose(moved[3:], [0, 0, np.sin(0.25), np.cos(0.25)], atol=1e-12)
    np.testing.assert_allclose(
        hg.in_hand_frame(hand_model.placed(bent, (1, 2, 3), (0.3, -0.4, 0.5))), bent, atol=1e-12
    )


def test_pinch_is_scaled_by_the_hand():
    wide, shut = hand_model.landmarks(), hand_model.landmarks((0.6, 0.2, 0.2, 0.2), 1.0, 0, 0.008)
    assert hg.pinch_closure(wide) == 0.0 and hg.pinch_closure(shut) == 1.0
    half = hand_model.landmarks((0.5, 0.2, 0.2, 0.2), 0.6, 0)
    assert 0.1 < hg.pinch_closure(half) < 0.9
    assert hg.pinch_closure(0.7 * half) == pytest.approx(hg.pinch_closure(half))


def test_fingers_bend_towards_the_normal_of_a_right_hand_only():
    for bend in (0.3, 0.8, 1.2):
        right = hand_model.placed(hand_model.landmarks((bend,) * 4), (0.1, 0.2, 0.3), (1.0, 2.0, 0.5))
        assert hg.bend_towards_normal(right) > 0.2
        assert hg.bend_towards_normal(hand_model.mirrored(right)) == pytest.approx(-hg.bend_towards_normal(right))
    assert abs(hg.bend_towards_normal(hand_model.landmarks())) < 1e-9


def test_26_joints_and_21_landmarks():
    _, joints = next(openxr_stream())
    marks = hg.landmarks_of(joints)
    np.testing.assert_array_equal(marks[[0, 4, 8, 20]], joints[[1, 5, 10, 25]])
    assert hg.landmarks_of(marks) is not None and hg.implausible(marks) == ""
    with pytest.raises(ValueError, match=r"joints of shape \(20, 3\); legal: \(21, 3\) landmarks or \(26, 3\)"):
        hg.landmarks_of(np.zeros((20, 3)))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda p: p * 3, "a palm of 27.0 cm; legal: 4 to 15 cm"),
        (lambda p: np.vstack([p[:8], p[8:9] + 0.3, p[9:]]), "a bone of .* cm in a palm of 9.0 cm"),
        (lambda p: p * np.nan, "points that are not finite"),
    ],
)
def test_what_is_no_hand(change, text):
    import re

    assert re.search(text, hg.implausible(change(hand_model.landmarks())))


# ---- One-Euro


def test_one_euro_is_the_published_recursion():
    """Against the algorithm written out for one number (Casiez et al. 2012, algorithm 1)."""
    rng = np.random.default_rng(1)
    times = np.cumsum(rng.uniform(0.01, 0.05, 200))
    values = np.cumsum(rng.normal(size=200) * 0.01)
    filtered = OneEuro(min_cutoff=1.2, beta=7.0, speed_cutoff=0.9)
    x = dx = last = None
    for t, value in zip(times, values, strict=True):
        got = float(filtered(np.array(value), t))
        if x is None:
            x, dx = value, 0.0
        else:
            te = t - last
            a_d = 1.0 / (1.0 + 1.0 / (2 * np.pi * 0.9 * te))
            dx = a_d * (value - x) / te + (1 - a_d) * dx
            a = 1.0 / (1.0 + 1.0 / (2 * np.pi * (1.2 + 7.0 * abs(dx)) * te))
            x = a * value + (1 - a) * x
        last = t
        assert got == pytest.approx(x, abs=1e-14)


def test_a_resting_hand_is_smooth_and_a_moving_one_is_not_late():
    rng = np.random.default_rng(2)
    noise = rng.normal(size=(300, 21, 3)) * 1e-3
    rest = OneEuro()
    out = np.array([rest(noise[k], k / 30) for k in range(300)])[60:]
    assert out.std() < 0.5 * noise[60:].std()
    move = OneEuro()
    way = np.array([[0.5 * k / 30, 0.0, 0.0] for k in range(90)])  # half a metre a second
    lag = way[-1, 0] - [move(p, k / 30) for k, p in enumerate(way)][-1][0]
    assert 0.0 < lag < 0.5 * 0.035, "less than one frame late"
    slow = OneEuro(beta=0.0)
    assert way[-1, 0] - [slow(p, k / 30) for k, p in enumerate(way)][-1][0] > 3 * lag


def test_one_euro_starts_anew_after_a_gap_and_refuses_nonsense():
    f = OneEuro(gap=0.3)
    f(np.zeros(3), 0.0)
    np.testing.assert_array_equal(f(np.ones(3), 1.0), np.ones(3))
    np.testing.assert_array_equal(f(np.full(3, 9.0), 1.0), np.ones(3))  # the clock stands: no new value
    assert smoothing(1.0, 1e9) == pytest.approx(1.0)
    for name, value in (("min_cutoff", 0.0), ("speed_cutoff", -1.0), ("gap", float("nan"))):
        with pytest.raises(ValueError, match=rf"OneEuro.{name} = .*; legal: above 0"):
            OneEuro(**{name: value})
    with pytest.raises(ValueError, match="OneEuro.beta = -1.0; legal: 0 or above"):
        OneEuro(beta=-1.0)


# ---- gate and mirror


def test_confidence_gate_has_hysteresis():
    stream, points = HandStream("right"), hand_model.landmarks((0.3,) * 4)
    valid = [stream.take(points, c, k / 30).valid for k, c in enumerate((0.5, 0.65, 0.5, 0.35, 0.5, 0.7))]
    assert valid == [False, True, True, False, False, True] and GATE_ON == 0.6
    assert "confidence of 0.20 only" in stream.take(points, 0.2, 1.0).reason


@pytest.mark.parametrize("source", ["model", "openxr"])
def test_a_mirrored_picture_is_found_out(source):
    frames = list(hand_model.stream(noise=1e-3)) if source == "model" else list(openxr_stream())
    right, wrong = HandStream("right"), HandStream("right")
    straight = [right.take(points, 1.0, t).valid for t, points in frames]
    turned = [wrong.take(hand_model.mirrored(points), 1.0, t) for t, points in frames]
    assert all(straight) and not right.mirrored
    assert wrong.mirrored and not turned[-1].valid
    assert "looks like a left hand: the picture is mirrored" in turned[-1].reason
    left = HandStream("left")
    assert all(left.take(hand_model.mirrored(points), 1.0, t).valid for t, points in frames) and not left.mirrored


def test_a_flat_hand_accuses_nobody():
    stream = HandStream("left")
    assert all(stream.take(hand_model.landmarks((0.05,) * 4), 1.0, k / 30).valid for k in range(300))


def test_strange_points_are_a_reason_not_an_error():
    stream = HandStream("right")
    for points in (np.full((21, 3), np.nan), np.zeros((21, 3)), np.zeros((5, 3)), 9 * hand_model.landmarks()):
        state = stream.take(points, 1.0, 0.0)
        assert not state.valid and state.reason and state.pose is None


# ---- the device


@pytest.fixture
def camera():
    device = CameraHand("right:0")
    device.open()
    yield device
    device.close()


def connect(device):
    import socket

    link = socket.create_connection(("127.0.0.1", device.port), timeout=5)
    link.sendall(line(tacktile=1, name="hand camera"))
    return link


def until(device, condition, seconds=10.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sample = device.poll(time.monotonic())
        if condition(sample):
            return sample
        time.sleep(0.002)
    pytest.fail(f"waited in vain: {device.status()}, {sample}")


def test_a_stream_of_landmarks_drives(camera):
    device = camera
    assert device.status().health is Health.NOT_FOUND
    assert "waiting for the camera's process. Start it:" in device.status().message
    assert "hand_camera.py --model" in device.status().message
    closures, places = [], []
    with connect(device) as link:
        for t, points in hand_model.stream(60, noise=5e-4):
            wrist = points[0]
            link.sendall(
                line(t=t, side="right", confidence=0.9, joints=points - wrist, pose=[*wrist, 0, 0, 0, 1])
            )
            sample = until(device, lambda s, t=t: s.t_device == t)
            assert sample.valid and sample.kind is Kind.JOINTS and sample.joints.shape == (21, 3)
            closures.append(sample.gripper)
            places.append(np.linalg.norm(sample.pose[:3] - wrist))
        assert max(closures) > 0.9 and min(closures) < 0.1 and np.median(places) < 0.02
        link.sendall(line(t=9.0, side="right", confidence=0.1, joints=points - wrist))
        lost = until(device, lambda s: s.t_device == 9.0)
        assert not lost.valid and "confidence of 0.10 only" in device.status().message and device.status().ok
        link.sendall(line(t=9.1, side="left", confidence=0.9, joints=points))  # the other hand is not ours
        link.sendall(line(pressed=["record"]))
        assert until(device, lambda s: "record" in s.pressed).t_device == 9.0
    until(device, lambda s: device.status().health is Health.LOST)
    assert device.status().message == "hand camera hung up. Start it again."


def test_sides_have_ports_of_their_own():
    assert CameraHand("left").port == 47449 and CameraHand("right").port == 47448
    for bad in ("up", "right:x"):
        with pytest.raises(ValueError, match="legal: (hands, hands:left|network:PORT)"):
            open_device(f"hands:{bad}")


# ---- the camera's process


class Mark:
    def __init__(self, x, y, z):
        self.x, self.y, self.z = x, y, z


def picture(points: np.ndarray, width=640, height=480):
    """What MediaPipe says of a hand (camera axes: x right, y down, z into the picture): 2D and metric landmarks."""
    focal = 0.95 * width
    image = [Mark(0.5 + focal * p[0] / p[2] / width, 0.5 + focal * p[1] / p[2] / height, 0.0) for p in points]
    world = [Mark(*(p - points.mean(axis=0))) for p in points]
    return image, world


@pytest.mark.parametrize("facing", ["operator", "scene"])
def test_the_hand_is_found_where_it_is(facing):
    """A flat hand held parallel to the picture, 0.6 m in front of the camera."""
    flat = hand_model.landmarks() * (1, 1, 0)
    camera = flat @ np.diag([1.0, -1.0, 1.0]) + np.array([0.1, 0.05, 0.6])
    got = parse(json.dumps(message(*picture(camera), "right", 0.9, (640, 480), facing, 1.5)).encode())
    axes = np.array(AXES[facing])
    assert np.linalg.det(axes) == pytest.approx(1.0), "turned, not mirrored"
    np.testing.assert_allclose(got.pose[:3], axes @ camera[0], atol=0.01)
    np.testing.assert_allclose(got.joints, (camera - camera[0]) @ axes.T, atol=1e-5)
    assert got.side == "right" and got.t == 1.5 and got.confidence == 0.9
    # towards the camera of a webcam is away from the operator
    nearer = message(*picture(camera - [0, 0, 0.1]), "right", 0.9, (640, 480), "operator", 1.5)
    assert nearer["pose"][1] > message(*picture(camera), "right", 0.9, (640, 480), "operator", 1.5)["pose"][1] + 0.09


def test_mediapipe_names_hands_of_a_mirrored_picture():
    assert side_of("Left", False) == "right" and side_of("Left", True) == "left"


def run_camera(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(ROOT / "devices" / "hand_camera.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_model_absent():
    done = run_camera("--model", "/nowhere/hand.task")
    assert done.returncode == 2
    assert done.stderr.startswith("there is no hand model at /nowhere/hand.task. Fetch it:\ncurl -o /nowhere/hand.task")


def stub(folder: Path, opens: bool) -> dict[str, str]:
    """An environment in which OpenCV and MediaPipe are there in name, and no camera opens."""
    (folder / "mediapipe" / "tasks" / "python").mkdir(parents=True)
    for part in ("mediapipe", "mediapipe/tasks", "mediapipe/tasks/python"):
        (folder / part / "__init__.py").write_text("")
    (folder / "mediapipe/tasks/python/vision.py").write_text("")
    (folder / "cv2.py").write_text(
        "class VideoCapture:\n    def __init__(self, source): pass\n"
        f"    def isOpened(self): return {opens}\n    def read(self): return False, None\n"
    )
    return {"PYTHONPATH": str(folder)}


def test_library_absent_and_camera_absent(tmp_path, monkeypatch):
    model = tmp_path / "hand.task"
    model.write_bytes(b"x")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "empty"))
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "cv2.py").write_text("raise ImportError(\"No module named 'cv2'\")")
    done = run_camera("--model", str(model))
    assert done.returncode == 2 and "mediapipe is not installed here (No module named 'cv2')" in done.stderr
    assert "-m pip install mediapipe" in done.stderr
    monkeypatch.setenv("PYTHONPATH", stub(tmp_path / "stub", False)["PYTHONPATH"])
    done = run_camera("--model", str(model), "--camera", "7")
    assert done.returncode == 2 and done.stderr.startswith("camera 7 cannot be opened. Cameras here: ")
    assert "Plug one in, or close the program that uses it" in done.stderr
    done = run_camera("--model", str(model), "--camera", "/nowhere.mp4")
    assert done.returncode == 2 and "there is no camera or video at /nowhere.mp4" in done.stderr


def test_the_doctor_gives_the_lines(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    status = hands.probe()
    assert status.health is Health.NO_LIBRARY
    for text in ("environment of the camera's process is missing", "hand model is missing", "pip install mediapipe",
                 "curl -o", "--model"):  # fmt: skip
        assert text in status.message
    place = tmp_path / ".cache" / "tacktile" / "hands"
    (place / "bin").mkdir(parents=True)
    (place / "bin" / "python").write_text("")
    (place / "hand_landmarker.task").write_text("")
    monkeypatch.setattr(hands, "cameras", list)
    assert hands.probe().message == "no camera is plugged in (/dev/video*)"
    monkeypatch.setattr(hands, "cameras", lambda: ["/dev/video0"])
    assert hands.probe().ok and "--input hands" in hands.probe().message


def test_the_line_to_type_names_no_user(monkeypatch):
    monkeypatch.setattr(hands, "CAMERA_SCRIPT", Path("/home/someone/src/devices/hand_camera.py"))
    monkeypatch.setattr(Path, "home", lambda: Path("/home/someone"))
    assert "~/src/devices/hand_camera.py" in hands.command() and "someone" not in hands.command()


def test_network_and_hands_share_nothing_but_the_protocol():
    assert NetworkDevice("").port not in hands.PORTS.values()
