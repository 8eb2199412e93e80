"""One energy a file: scalar laws, kernels, launchers and class; see base.py for the contract."""
