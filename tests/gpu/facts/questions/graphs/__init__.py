"""Graphs: nodes, edges, updates, launches, memory and conditional nodes."""
