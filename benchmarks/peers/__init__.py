"""gapdrift beside the other libraries that detect drift; see `python -m benchmarks.peers --help`."""
