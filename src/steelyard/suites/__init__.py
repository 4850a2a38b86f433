"""A suite of experiments: run one after the other, continued where it was cut off."""
