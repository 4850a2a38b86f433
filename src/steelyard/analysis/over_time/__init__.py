"""What happened in the course of a run or of a trial: series, events, drift."""
