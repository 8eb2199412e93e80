"""The application with the stand-in HID library, which looks into the environment of its own process whether a device
is plugged in: lines on standard input, `plug` and `unplug`, change that from outside."""

from __future__ import annotations

import os
import sys
import threading

from app.cli import main


def _plugs() -> None:
    for line in sys.stdin:
        if line.strip() == "unplug":
            os.environ["FAKEHID_NONE"] = "1"
        else:
            os.environ.pop("FAKEHID_NONE", None)


if __name__ == "__main__":
    threading.Thread(target=_plugs, daemon=True).start()
    sys.argv[0] = "tacktile"
    main()
