"""How a run is asked and steered from outside while it lives."""
