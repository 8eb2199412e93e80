"""Which input of which VR controller is which action: suggested bindings by OpenXR interaction profile."""

from __future__ import annotations

# action -> kind; names of clicks are those of the key map's section `xr`
ACTIONS = {
    "grip": "pose",
    "trigger": "float",
    "squeeze": "float",
    "stick_x": "float",
    "stick_y": "float",
    "A": "click",
    "B": "click",
    "STICK": "click",
    "MENU": "click",
    "haptic": "haptic",
}
_COMMON = {"grip": "input/grip/pose", "haptic": "output/haptic", "trigger": "input/trigger/value"}
_STICK = {"stick_x": "input/thumbstick/x", "stick_y": "input/thumbstick/y", "STICK": "input/thumbstick/click"}
_PAD = {"stick_x": "input/trackpad/x", "stick_y": "input/trackpad/y", "STICK": "input/trackpad/click"}
# profile -> action -> path below /user/hand/SIDE, or one a side
PROFILES: dict[str, dict[str, str | dict[str, str]]] = {
    "/interaction_profiles/valve/index_controller": {
        **_COMMON, **_STICK, "squeeze": "input/squeeze/value", "A": "input/a/click", "B": "input/b/click",
    },
    "/interaction_profiles/oculus/touch_controller": {
        **_COMMON, **_STICK, "squeeze": "input/squeeze/value",
        "A": {"left": "input/x/click", "right": "input/a/click"},
        "B": {"left": "input/y/click", "right": "input/b/click"},
        "MENU": {"left": "input/menu/click"},
    },
    "/interaction_profiles/htc/vive_controller": {
        **_COMMON, **_PAD, "squeeze": "input/squeeze/click", "MENU": "input/menu/click",
    },
    "/interaction_profiles/microsoft/motion_controller": {
        **_COMMON, **_STICK, "squeeze": "input/squeeze/click", "MENU": "input/menu/click",
    },
    "/interaction_profiles/khr/simple_controller": {
        "grip": "input/grip/pose", "haptic": "output/haptic", "trigger": "input/select/click",
        "MENU": "input/menu/click",
    },
}  # fmt: skip


def binding_path(bindings: dict[str, str | dict[str, str]], action: str, side: str) -> str:
    """Full path of an action on one side, "" when this controller has none."""
    tail = bindings.get(action, "")
    tail = tail.get(side, "") if isinstance(tail, dict) else tail
    return f"/user/hand/{side}/{tail}" if tail else ""
