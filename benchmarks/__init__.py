"""Benchmarks of the package, and the soak test of the emulator. Each module is a program: `python -m benchmarks.NAME`."""
