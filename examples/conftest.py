"""The options of all Python tests, as in `tests`."""

pytest_plugins = ["spec_coverage", "expected_skips"]
