"""From a trace to the plan of its replay: which calls, after which others, on which files."""
