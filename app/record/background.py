"""One helper thread that works through a queue, and does something small whenever it is idle."""

from __future__ import annotations

import atexit
import os
import queue
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

JOIN_SECONDS = 10.0  # [s] that a job may take to its next `progress`


class Aborted(Exception):
    """Raised inside a job, by the `progress` it was given, when the thread shall end."""


class Background:
    """Runs `job(item, progress)` for every submitted item, one at a time, and `idle()` every `idle_seconds` between.

    The thread is a daemon: it never keeps a process alive that wants to end. A job calls `progress(0..1)` now and
    then; after `end` that call raises Aborted. `job` must not raise anything else.
    """

    def __init__(
        self, job: Callable[[Any, Callable[[float], None]], None], idle: Callable[[], None], idle_seconds: float
    ):
        self._job, self._idle, self._idle_seconds = job, idle, idle_seconds
        self._queue: queue.Queue = queue.Queue()
        self._changed = threading.Condition()
        self._pending = 0
        self._abort = False
        self._thread: threading.Thread | None = None
        self.progress = 0.0
        reference = weakref.ref(self)
        atexit.register(lambda: (this := reference()) and this._end_for_good())

    @property
    def pending(self) -> int:
        """Items not finished."""
        return self._pending

    def begin(self) -> None:
        """Start the thread when it does not run."""
        if self._thread is None or not self._thread.is_alive():
            self._abort = False
            self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)
            self._thread.start()

    def submit(self, item: Any) -> None:
        with self._changed:
            self._pending += 1
        self._queue.put(item)
        self.begin()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until every item is finished; True when it is so, False after `timeout` [s] or without a thread."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while self._pending and self._thread is not None:
                left = 0.2 if deadline is None else min(0.2, deadline - time.monotonic())
                if left <= 0:
                    return False
                self._changed.wait(left)  # short, so that Ctrl+C is seen on every system
            return self._pending == 0

    def end(self) -> None:
        """Abort the running job at its next `progress`, forget the queued ones, join. May be called twice."""
        if self._thread is None:
            return
        self._abort = True
        self._queue.put(None)
        self._thread.join(JOIN_SECONDS)
        if not self._thread.is_alive():
            self._thread = None
        with self._changed:
            self._pending = 0
            self._queue = queue.Queue()

    def _end_for_good(self) -> None:
        """While the interpreter goes down. A thread that is still inside HDF5 then would hang the process: the exit
        handler of that library waits for it, and it waits for the interpreter. So the process ends here."""
        self.end()
        if self._thread is not None:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(1)

    def _report(self, done: float) -> None:
        self.progress = done
        if self._abort:
            raise Aborted

    def _work(self) -> None:
        items = self._queue
        while not self._abort:
            try:
                item = items.get(timeout=self._idle_seconds)
            except queue.Empty:
                self._idle()
                continue
            if item is not None and not self._abort:
                try:
                    self._job(item, self._report)
                finally:
                    with self._changed:
                        self._pending = max(0, self._pending - 1)
                        self.progress = 0.0
                        self._changed.notify_all()
