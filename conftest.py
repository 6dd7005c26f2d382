"""The options of all Python tests, in `tests` and `examples`."""

pytest_plugins = ["spec_coverage", "expected_skips"]
