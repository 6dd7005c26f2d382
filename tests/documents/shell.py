"""A shell that stays open for a page, so that one command sees what the commands before it have set."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path


class Shell:
    """One bash process in a folder. A command reads nothing from standard input; standard error is part of its output."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._own = Path(tempfile.mkdtemp(prefix="cuarray-documents-shell-"))
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, command: str) -> tuple[int, str]:
        """Run a command, and return its exit status and its output."""
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        script, output = self._own / "command", self._own / "output"
        script.write_text(command + "\n", encoding="utf-8")
        self._bash.stdin.write(
            f'source "{script}" </dev/null >"{output}" 2>&1; __status=$?; echo "$__status"; (exit $__status)\n'
        )
        self._bash.stdin.flush()
        status = self._bash.stdout.readline()
        printed = output.read_text(encoding="utf-8", errors="replace")
        if not status:
            message = f"the shell ended in `{command}`:\n{printed}"
            raise RuntimeError(message)
        return int(status), printed

    def close(self) -> None:
        """End the shell."""
        assert self._bash.stdin is not None
        self._bash.stdin.close()
        self._bash.wait()
        assert self._bash.stdout is not None
        self._bash.stdout.close()
        shutil.rmtree(self._own)
