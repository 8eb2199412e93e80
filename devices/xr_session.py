"""One OpenXR session without graphics (XR_MND_headless): where the hands are, what they press, how they are bent.

Everything of the package pyopenxr stands here. The session is the process's: `XrSession` is asked by one thread, which
`devices.xr` owns. Sources: OpenXR 1.1 specification, sections on sessions, actions, XR_EXT_hand_tracking and
XR_KHR_convert_timespec_time; XR_MND_headless.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from devices.xr_bindings import ACTIONS, PROFILES, binding_path

SIDES = ("left", "right")
NUM_JOINTS = 26
WRIST, PALM = 1, 0


class XrProblem(RuntimeError):
    """Why there is no session. kind: "library", "runtime", "service", "headless", "headset", "lost"."""

    def __init__(self, kind: str, text: str):
        super().__init__(text)
        self.kind = kind


@dataclass
class HandReading:
    """One hand at one time, device frame: x right, y away, z up, origin where the runtime puts its local space."""

    active: bool = False  # the controller is there (hand: it is seen)
    valid: bool = False  # position and orientation are known
    tracked: bool = False  # and measured now, not guessed
    pose: np.ndarray | None = None  # (7,) grip pose; of a hand: its wrist
    values: dict[str, float] = field(default_factory=dict)  # trigger, squeeze, stick_x, stick_y in [-1, 1]
    clicks: frozenset[str] = frozenset()  # of A, B, STICK, MENU
    joints: np.ndarray | None = None  # [m] (26, 3), order of XR_EXT_hand_tracking
    profile: str = ""  # interaction profile in use


def z_up(position: Any, orientation: Any) -> np.ndarray:
    """OpenXR's x right, y up, z backwards to x right, y away, z up. (7,)"""
    p, q = position, orientation
    return np.array([p.x, -p.z, p.y, q.x, -q.z, q.y, q.w])


class XrSession:
    """Raises XrProblem when it cannot be had. `close` gives it back."""

    def __init__(self, hands: bool = True):
        self.xr = _load()
        self.running = False
        self.runtime = ""
        self._instance = self._session = None
        try:
            self._start(hands)
        except BaseException:
            self.close()
            raise

    # ---- start

    def _start(self, hands: bool) -> None:
        xr = self.xr
        try:
            offered = [e.extension_name.decode() for e in xr.enumerate_instance_extension_properties()]
        except Exception as error:
            raise _problem(xr, error) from error
        if xr.MND_HEADLESS_EXTENSION_NAME not in offered:
            raise XrProblem(
                "headless",
                "this OpenXR runtime cannot run without a picture (no XR_MND_headless). Monado and what is built on "
                "it can: make it the active runtime.",
            )
        self._clock_extension = (
            "XR_KHR_win32_convert_performance_counter_time"
            if sys.platform == "win32"
            else xr.KHR_CONVERT_TIMESPEC_TIME_EXTENSION_NAME
        )
        wanted = [xr.MND_HEADLESS_EXTENSION_NAME, self._clock_extension]
        self.has_hands = hands and xr.EXT_HAND_TRACKING_EXTENSION_NAME in offered
        if self.has_hands:
            wanted.append(xr.EXT_HAND_TRACKING_EXTENSION_NAME)
        application = xr.ApplicationInfo("Tacktile", 1, "none", 0, xr.Version(1, 0, 0))
        try:
            self._instance = xr.create_instance(
                xr.InstanceCreateInfo(application_info=application, enabled_extension_names=wanted)
            )
            self.runtime = xr.get_instance_properties(self._instance).runtime_name.decode()
            system = xr.get_system(
                self._instance, xr.SystemGetInfo(form_factor=xr.FormFactor.HEAD_MOUNTED_DISPLAY)
            )
            self._session = xr.create_session(self._instance, xr.SessionCreateInfo(system_id=system))
        except Exception as error:
            raise _problem(xr, error) from error
        self._make_actions()
        self._space = xr.create_reference_space(
            self._session, xr.ReferenceSpaceCreateInfo(reference_space_type=xr.ReferenceSpaceType.LOCAL)
        )
        self._trackers = self._make_trackers() if self.has_hands else {}
        self._convert_time = self._time_function()

    def _make_actions(self) -> None:
        xr, instance = self.xr, self._instance
        self._set = xr.create_action_set(instance, xr.ActionSetCreateInfo("teleop", "Teleoperation", 0))
        self._paths = {side: xr.string_to_path(instance, f"/user/hand/{side}") for side in SIDES}
        kinds = {
            "pose": xr.ActionType.POSE_INPUT, "float": xr.ActionType.FLOAT_INPUT, "click": xr.ActionType.BOOLEAN_INPUT,
            "haptic": xr.ActionType.VIBRATION_OUTPUT,
        }  # fmt: skip
        self._actions = {
            name: xr.create_action(
                self._set,
                xr.ActionCreateInfo(
                    action_name=name.lower(), action_type=kinds[kind], localized_action_name=name.replace("_", " "),
                    subaction_paths=list(self._paths.values()),
                ),
            )
            for name, kind in ACTIONS.items()
        }  # fmt: skip
        for profile, bindings in PROFILES.items():
            suggested = [
                xr.ActionSuggestedBinding(self._actions[action], xr.string_to_path(instance, path))
                for action in ACTIONS
                for side in SIDES
                if (path := binding_path(bindings, action, side))
            ]
            xr.suggest_interaction_profile_bindings(
                instance,
                xr.InteractionProfileSuggestedBinding(
                    interaction_profile=xr.string_to_path(instance, profile), suggested_bindings=suggested
                ),
            )
        xr.attach_session_action_sets(self._session, xr.SessionActionSetsAttachInfo(action_sets=[self._set]))
        self._grips = {
            side: xr.create_action_space(
                self._session, xr.ActionSpaceCreateInfo(action=self._actions["grip"], subaction_path=path)
            )
            for side, path in self._paths.items()
        }

    def _make_trackers(self) -> dict[str, Any]:
        xr, made = self.xr, {}
        for side, hand in (("left", xr.HandEXT.LEFT), ("right", xr.HandEXT.RIGHT)):
            try:
                made[side] = xr.create_hand_tracker_ext(self._session, xr.HandTrackerCreateInfoEXT(hand=hand))
            except Exception:  # this system has the extension but no hands
                self.has_hands = False
        if made:
            # pyopenxr's own wrapper passes no joint array, so the entry point is called here
            address = xr.get_instance_proc_addr(self._instance, "xrLocateHandJointsEXT")
            self._locate_joints = ctypes.cast(address, xr.PFN_xrLocateHandJointsEXT)
        return made

    def _time_function(self):
        """Now on OpenXR's clock [ns]."""
        names = {"win32": "xrConvertWin32PerformanceCounterToTimeKHR"}
        name = names.get(sys.platform, "xrConvertTimespecTimeToTimeKHR")
        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64))
        function = ctypes.cast(self.xr.get_instance_proc_addr(self._instance, name), kind)
        handle = ctypes.cast(self._instance, ctypes.c_void_p)

        def convert() -> int:
            if sys.platform == "win32":
                raw = ctypes.c_int64()
                ctypes.windll.kernel32.QueryPerformanceCounter(ctypes.byref(raw))
            else:
                nanoseconds = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
                raw = (ctypes.c_long * 2)(nanoseconds // 10**9, nanoseconds % 10**9)
            out = ctypes.c_int64()
            code = function(handle, ctypes.byref(raw), ctypes.byref(out))
            if code != 0:
                raise XrProblem("lost", f"the OpenXR runtime does not tell the time (result {code})")
            return out.value

        return convert

    # ---- reading

    def read(self) -> dict[str, tuple[HandReading, HandReading]] | None:
        """side -> (controller, hand); None while the session is not running yet. Raises XrProblem when it is lost."""
        xr = self.xr
        try:
            self._events()
            if not self.running:
                return None
            sync = xr.ActionsSyncInfo(active_action_sets=[xr.ActiveActionSet(self._set, xr.NULL_PATH)])
            try:
                xr.sync_actions(self._session, sync)
            except xr.exception.SessionNotFocused:
                pass  # reads as inactive
            now = self._convert_time()
            return {side: (self._controller(side, now), self._hand(side, now)) for side in SIDES}
        except XrProblem:
            raise
        except Exception as error:
            raise XrProblem("lost", f"the OpenXR runtime went away ({type(error).__name__})") from error

    def _events(self) -> None:
        xr = self.xr
        while True:
            try:
                event = xr.poll_event(self._instance)
            except xr.EventUnavailable:
                return
            kind = xr.StructureType(event.type)
            if kind == xr.StructureType.EVENT_DATA_INSTANCE_LOSS_PENDING:
                raise XrProblem("lost", "the OpenXR runtime is shutting down")
            if kind != xr.StructureType.EVENT_DATA_SESSION_STATE_CHANGED:
                continue
            changed = ctypes.cast(ctypes.byref(event), ctypes.POINTER(xr.EventDataSessionStateChanged)).contents
            state = xr.SessionState(changed.state)
            if state == xr.SessionState.READY:
                xr.begin_session(self._session, xr.SessionBeginInfo(xr.ViewConfigurationType.PRIMARY_STEREO))
                self.running = True
            elif state == xr.SessionState.STOPPING:
                self.running = False
                xr.end_session(self._session)
            elif state in (xr.SessionState.LOSS_PENDING, xr.SessionState.EXITING):
                raise XrProblem("lost", "the OpenXR runtime ended the session")

    def _controller(self, side: str, now: int) -> HandReading:
        xr, path = self.xr, self._paths[side]

        def asked(name: str):
            return xr.ActionStateGetInfo(self._actions[name], path)

        active = bool(xr.get_action_state_pose(self._session, asked("grip")).is_active)
        if not active:
            return HandReading()
        reading = self._located(self._grips[side], now)
        values, clicks = {}, set()
        for name, kind in ACTIONS.items():
            if kind == "float":
                values[name] = float(xr.get_action_state_float(self._session, asked(name)).current_state)
            elif kind == "click" and xr.get_action_state_boolean(self._session, asked(name)).current_state:
                clicks.add(name)
        profile = xr.get_current_interaction_profile(self._session, path).interaction_profile
        reading.values, reading.clicks = values, frozenset(clicks)
        reading.profile = xr.path_to_string(self._instance, profile) if profile else ""
        return reading

    def _located(self, space: Any, now: int) -> HandReading:
        location = self.xr.locate_space(space, self._space, now)
        valid, tracked = self._flags(location.location_flags)
        pose = z_up(location.pose.position, location.pose.orientation) if valid else None
        return HandReading(active=True, valid=valid, tracked=tracked, pose=pose)

    def _flags(self, flags: int) -> tuple[bool, bool]:
        bits = self.xr.SpaceLocationFlags
        valid = bits.ORIENTATION_VALID_BIT | bits.POSITION_VALID_BIT
        tracked = bits.ORIENTATION_TRACKED_BIT | bits.POSITION_TRACKED_BIT
        return (int(flags) & int(valid)) == int(valid), (int(flags) & int(tracked)) == int(tracked)

    def _hand(self, side: str, now: int) -> HandReading:
        xr, tracker = self.xr, self._trackers.get(side)
        if tracker is None:
            return HandReading()
        joints = (xr.HandJointLocationEXT * xr.HAND_JOINT_COUNT_EXT)()
        located = xr.HandJointLocationsEXT(joint_count=xr.HAND_JOINT_COUNT_EXT, joint_locations=joints)
        result = xr.check_result(
            self._locate_joints(
                tracker, xr.HandJointsLocateInfoEXT(base_space=self._space, time=now), ctypes.byref(located)
            )
        )
        if result.is_exception():
            raise result
        if not located.is_active:
            return HandReading()
        flags = [self._flags(joint.location_flags) for joint in joints]
        poses = np.array([z_up(joint.pose.position, joint.pose.orientation) for joint in joints])
        valid = all(ok for ok, _ in flags)
        return HandReading(
            active=True, valid=valid, tracked=flags[WRIST][1], pose=poses[WRIST] if valid else None,
            joints=poses[:, :3] if valid else None,
        )  # fmt: skip

    def vibrate(self, side: str, amplitude: float, seconds: float) -> None:
        """amplitude in [0, 1]."""
        xr = self.xr
        if not self.running:
            return
        pulse = xr.HapticVibration(amplitude=amplitude, duration=int(seconds * 1e9), frequency=0.0)
        base = ctypes.cast(ctypes.byref(pulse), ctypes.POINTER(xr.HapticBaseHeader)).contents
        try:
            target = xr.HapticActionInfo(self._actions["haptic"], self._paths[side])
            xr.apply_haptic_feedback(self._session, target, base)
        except Exception as error:
            raise XrProblem("lost", f"the OpenXR runtime went away ({type(error).__name__})") from error

    def close(self) -> None:
        for handle, destroy in ((self._session, "destroy_session"), (self._instance, "destroy_instance")):
            if handle is not None:
                try:
                    getattr(self.xr, destroy)(handle)
                except Exception:  # a runtime that is gone has nothing to give back
                    pass
        self._session = self._instance = None
        self.running = False


# ---- what went wrong


def _load() -> Any:
    os.environ.setdefault("XR_LOADER_DEBUG", "none")  # what it would print to stderr stands in XrProblem
    try:
        import xr
    except (ImportError, OSError) as error:  # also what it raises without an OpenGL library
        raise XrProblem(
            "library", f"the package pyopenxr is missing or broken ({error}). Install it: pip install 'tacktile[xr]'"
        ) from error
    return xr


def _name(error: BaseException) -> str:
    return f"{type(error).__name__}{': ' + str(error) if str(error) else ''}"[:120]


def _problem(xr: Any, error: Exception) -> XrProblem:
    """What an exception of pyopenxr means for the operator."""
    kind = type(error).__name__
    if kind == "RuntimeUnavailableError":
        return XrProblem(
            "runtime",
            "no OpenXR runtime is active. Install the one of your headset, or Monado: sudo apt-get install -y "
            "monado-service libopenxr1-monado (Debian 13, Ubuntu 24.04). One in another place is named by the variable "
            "XR_RUNTIME_JSON.",
        )
    if kind in ("RuntimeFailureError", "InstanceLostError", "SessionLostError"):
        return XrProblem(
            "service",
            f"the OpenXR runtime is installed but does not answer ({kind}): its service is not running. Start it: "
            "monado-service (or SteamVR, or your headset's own program); Tacktile then finds it by itself.",
        )
    if kind in ("FormFactorUnavailableError", "FormFactorUnsupportedError"):
        return XrProblem("headset", "the OpenXR runtime sees no headset. Switch it on and put it on.")
    return XrProblem("service", f"the OpenXR runtime gave no session ({_name(error)})")
