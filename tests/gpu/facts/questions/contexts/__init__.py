"""Contexts: their lifetime, limits, and children of `fork`."""
