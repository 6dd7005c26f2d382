"""The edge-removal sweep: is every ordering call of cuarray needed, and would its absence be noticed?"""
