"""From an experiment file to a checked experiment: YAML with places, all problems at once, JSON Schema."""
