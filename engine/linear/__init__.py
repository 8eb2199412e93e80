"""The linear system of one Newton iteration: pattern, assembly, preconditioners, solvers."""
