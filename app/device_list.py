"""Which devices could drive: asked in a thread of its own, as looking for hardware takes a moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class DeviceList:
    """`refresh` starts a search, `entries` holds what the last one found: (name for --input, health, message)."""

    def __init__(self, search: Callable[[], list[Any]] | None = None):
        self._search = search
        self._thread: threading.Thread | None = None
        self.entries: list[tuple[str, str, str]] = []
        self.searching = False

    def refresh(self) -> None:
        """Does nothing while a search is under way."""
        if not self.searching:
            self.searching = True
            self._thread = threading.Thread(target=self._run, name="device-search", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        from devices.registry import list_devices

        try:
            found = (self._search or list_devices)()
            self.entries = [(e.name, e.status.health.value, e.status.message or e.description) for e in found]
        except Exception as error:  # noqa: BLE001 - a driver that fails must not end the window
            self.entries = [("keyboard", "OK", f"looking for devices failed: {error}")]
        finally:
            self.searching = False
