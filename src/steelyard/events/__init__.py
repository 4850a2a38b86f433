"""Events: what happens at a moment of a trial. One small file for each."""
