"""The fault sweep: every driver call of every public operation fails once, and nothing is lost."""
