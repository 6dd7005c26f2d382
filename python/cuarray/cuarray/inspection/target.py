"""Evaluation of ``module:expression`` on the command line."""

from __future__ import annotations

import importlib
import os
import sys


class TargetError(Exception):
    """The module cannot be imported, or the expression cannot be evaluated."""


def evaluate(target: str) -> object:
    """Import the module and evaluate the expression in it; the current directory is searched first.

    :raises TargetError: the import or the expression raised an exception, which is the cause.
    """
    module_name, colon, expression = target.partition(":")
    if not (module_name and colon and expression.strip()):
        raise TargetError(f"{target!r} is not module:expression, for example 'model:weights[0]'")
    # `python -m` adds the current directory; the console command does not.
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
