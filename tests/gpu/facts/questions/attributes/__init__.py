"""Attributes of devices, kernels and streams, occupancy, and the settings of core dumps."""
