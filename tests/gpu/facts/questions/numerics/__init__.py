"""Results of instructions, bit by bit."""
