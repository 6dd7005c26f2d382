"""Modules: loading, linking, and the texts of the logs."""
