"""A device on strings, a view and a recorder that remember: what the loop's tests are made of."""

from __future__ import annotations

import numpy as np

from app.frame import Request
from app.loop import FrameLoop, Wiring
from app.operator import Operator
from app.session import Session
from devices.contract import Health, Sample, Status
from tests.app.fake_scene import FakeEngine, FakeScene


class FakeDevice:
    """Gives what the test puts in."""

    name = "strings"

    def __init__(self, twist=(0.0,) * 6):
        self.twist = np.array(twist, float)
        self.health = Status(Health.OK)
        self.pressed: list[str] = []
        self.closed = False
        self.felt = []
        self.log: list[str] = []

    def poll(self, now):
        self.log.append("poll")
        sample = Sample(t_receive=now, twist=self.twist.copy(), pressed=tuple(self.pressed))
        self.pressed = []
        return sample

    def status(self):
        return self.health

    def describe(self):
        return {"name": self.name, "mapping": {"deadband": 0.0, "expo": 0.0, "ramp_time": 0.0, "rest_time": 0.0}}

    def feedback(self, feedback):
        self.felt.append(feedback.force)

    def close(self):
        self.closed = True


class FakeView:
    """Queues what the test wants and keeps every frame."""

    def __init__(self, log=None):
        self.closed = False
        self.wishes: list[Request] = []
        self.frames, self.infos = [], []
        self.ticks = 0
        self.scenes = 0
        self.models = 0
        self.log = log if log is not None else []

    def poll(self):
        self.log.append("requests")
        wishes, self.wishes = self.wishes, []
        return wishes

    def draw(self, frame, info):
        self.log.append("draw")
        self.frames.append(frame)
        self.infos.append(info)

    def tick(self):
        self.ticks += 1

    def tick_if_due(self):
        self.ticks += 1

    def progress(self, text, fraction):
        pass

    def ready(self):
        pass

    def set_scene(self, scene, points):
        self.scenes += 1

    def set_model(self, model, points):
        self.models += 1

    def camera_rotation(self):
        return None

    def toggle_help(self):
        self.log.append("help")

    def close(self):
        self.closed = True


class FakeRecorder:
    """State and calls only."""

    def __init__(self):
        from app.record.recorder import RecorderState

        self.State = RecorderState
        self.state = RecorderState.IDLE
        self.calls: list = []
        self.frames: list = []

    def start(self, points, time_sim):
        self.state = self.State.REC
        self.calls.append("start")
        return "episode_0001"

    def stop(self):
        self.state = self.State.IDLE
        self.calls.append("stop")
        return "episode_0001"

    def label(self, label):
        self.calls.append(label)
        return "episode_0001"

    def undo(self):
        self.calls.append("undo")
        return "episode_0001 is unlabelled again"

    def restart_point(self, reason):
        self.calls.append(reason)

    def write(self, frame):
        if self.state is self.State.REC:
            self.frames.append(frame)

    def poll_messages(self):
        return ()

    def status(self):
        from app.record.recorder import RecorderStatus

        return RecorderStatus(self.state, "episode_0001", None, len(self.frames), 0.0, 0, 10**9, 0, 0.0, "", "")

    def close(self):
        self.calls.append("close")


def make_loop(device=None, view=None, wiring=None, **engine):
    scene = FakeScene()
    session = Session("fake", (), "cpu", scene, FakeEngine(scene, **engine))
    device = device or FakeDevice()
    wiring = wiring or Wiring(pacing=False)
    return FrameLoop(session, Operator(device), view or FakeView(), wiring)


def texts(loop):
    return [text for frame in loop.view.frames for text in frame.events]
