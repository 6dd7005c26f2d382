"""Kernels: launches, their attributes, faults, and output."""
