"""The events of a trial, at their moments."""
