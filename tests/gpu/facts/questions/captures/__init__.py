"""Stream capture: which calls it accepts, how streams join it, and how it ends."""
