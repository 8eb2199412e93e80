"""One time step: prediction, projected Newton, line search, convergence."""
