"""From the text of a file to plain values, each of which knows its place."""
