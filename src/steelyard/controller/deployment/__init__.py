"""The services of an experiment and their data, for as long as they are needed."""
