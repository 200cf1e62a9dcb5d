"""The default detector."""
