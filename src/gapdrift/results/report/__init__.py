"""Reports: a result as text, pages and charts for readers."""
