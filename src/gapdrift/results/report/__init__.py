"""Reports: from a result to text, pages and charts that people read."""
