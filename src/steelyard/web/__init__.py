"""`steelyard serve`: runs in a browser, on a phone, and as JSON. Imported by that command alone."""
