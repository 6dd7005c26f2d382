"""Facts of a CUDA driver: questions, the recorder that asks them, and the comparison of two recordings.

``python -m gpu.facts record`` writes the answers of a driver, ``python -m gpu.facts compare`` prints where two drivers differ. The
package needs Python 3.11 or later and the standard library only.
"""
