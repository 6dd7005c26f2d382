"""Make the environments of the given stamps. A stamp is written when its environment is complete."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .steps import Failure, Missing
from .table import ENVIRONMENTS


def make(stamp: str) -> None:
    """Install an environment, or end the process with the reason. With `ALLOW_MISSING=1`, a missing part leaves no stamp only."""
    environment = ENVIRONMENTS[stamp]
    print(f"\n== {environment.contents} ({environment.size})", flush=True)
    try:
        environment.install()
    except Missing as missing:
        print(missing, file=sys.stderr)
        if os.environ.get("ALLOW_MISSING") != "1":
            raise SystemExit("ALLOW_MISSING=1 continues without it") from None
    except Failure as failure:
        raise SystemExit(str(failure)) from None
    else:
        Path(stamp).touch()


def main(stamps: list[str]) -> None:
    """Make the environments of these stamps, or list all."""
    if unknown := [stamp for stamp in stamps if stamp not in ENVIRONMENTS]:
        raise SystemExit(f"unknown stamps: {', '.join(unknown)}; there are: {', '.join(ENVIRONMENTS)}")
    for stamp in stamps:
        make(stamp)
    if not stamps:
        for stamp, environment in ENVIRONMENTS.items():
            state = "installed" if Path(stamp).exists() else "not installed"
            print(f"{stamp:<29} {state:<14} {environment.contents} ({environment.size})")


if __name__ == "__main__":
    main(sys.argv[1:])
