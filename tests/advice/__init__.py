"""The advice of findings, compared with the fixes of the planted errors."""
