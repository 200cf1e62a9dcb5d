"""What a test found, and how it is shown."""
