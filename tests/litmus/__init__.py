"""Litmus tests of the memory consistency model of PTX, and random programs that compare it with the search for races.

:mod:`litmus.axioms` evaluates the axioms of the manual by brute force. It shares no code with the simulator.
"""
