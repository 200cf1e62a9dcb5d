"""Records to files and back, without pickle."""
