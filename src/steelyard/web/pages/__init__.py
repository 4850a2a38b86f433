"""One file per page: what it shows, as facts; templates and JSON show the same."""
