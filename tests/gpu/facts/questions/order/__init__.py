"""The order of work: streams, events, host functions and words of memory."""
