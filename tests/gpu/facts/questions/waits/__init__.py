"""Calls that may wait on the host for pending work."""
