"""The object that ``module:expression`` names."""

from __future__ import annotations

import importlib
import os
import sys


class TargetError(Exception):
    """There is no such object: the module cannot be imported, or the expression cannot be evaluated."""


def evaluate(target: str) -> object:
    """Import the module and evaluate the expression in it; the current directory is searched first.

    Raises :class:`TargetError`, whose cause is what was raised on the way.
    """
    module_name, colon, expression = target.partition(":")
    if not (module_name and colon and expression.strip()):
        raise TargetError(f"{target!r} names no object; module:expression is expected, such as 'model:weights[0]'")
    # `python -m` has put it there; the console command has not.
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise TargetError(f"cannot import {module_name!r}: {_said(error)}") from error
    try:
        return eval(expression, vars(module))
    except (Exception, SystemExit) as error:
        raise TargetError(f"cannot evaluate {expression!r} in {module_name!r}: {_said(error)}") from error


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
