"""Progress on standard error: one changing line on a terminal, otherwise a line for each part."""

import sys
import time


class Progress:
    def __init__(self, parts, stream=sys.stderr):
        self._parts = parts
        self._part = 0
        self._name = ""
        self._stream = stream
        self._changes = stream.isatty()
        self._shown = 0.0

    def begin(self, name):
        self._part += 1
        self._name = name
        if self._changes:
            self._show("")
        else:
            print(f"[{self._part}/{self._parts}] {name}", file=self._stream, flush=True)

    def step(self, done, total):
        now = time.monotonic()
        if self._changes and now - self._shown > 0.1:
            self._shown = now
            self._show(f"  {done}/{total}")

    def end(self):
        if self._changes:
            print("\r\033[K", end="", file=self._stream, flush=True)

    def _show(self, text):
        print(f"\r\033[K[{self._part}/{self._parts}] {self._name}{text}", end="", file=self._stream, flush=True)
