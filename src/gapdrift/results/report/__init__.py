"""Reports: from the record of a result (plain dicts and lists) to text that people open."""
