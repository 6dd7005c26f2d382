"""The edge-removal sweep checks that each ordering call of cuarray is needed, and that its absence is found."""
