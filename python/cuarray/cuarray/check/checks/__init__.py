"""The checks. Each is a function of a :class:`~cuarray.check.trial.Trial`; its docstring is the requirement."""
