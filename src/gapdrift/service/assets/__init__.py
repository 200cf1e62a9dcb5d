"""Style and script of the service's pages."""
