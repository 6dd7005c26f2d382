"""The error codes of every function, in situations that the manual describes."""
