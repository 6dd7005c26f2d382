"""Reports of the results: text for a terminal, JSON, one page, and a badge."""
