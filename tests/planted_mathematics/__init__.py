"""Calls of the mathematical libraries with planted races between two streams, and their right siblings."""
