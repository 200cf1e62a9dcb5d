"""Pages and an HTTP interface for histories and monitors (extra ``serve``)."""
