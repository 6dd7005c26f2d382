"""Libraries in environments exactly as their pages say, with a probe of each on the simulated driver."""
