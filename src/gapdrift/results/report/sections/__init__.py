"""The sections of the HTML report, in their order; each is a function from the record to HTML."""
