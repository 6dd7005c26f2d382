"""The square of libraries: each as a producer into each as a consumer, on the simulated driver."""
