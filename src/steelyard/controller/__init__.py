"""The only place where the kinds meet: a study, the life of a trial, what is acquired and released."""
