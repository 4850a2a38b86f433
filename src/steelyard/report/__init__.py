"""A run for people and for other programs: terminal table, HTML, Markdown, CSV, Parquet, JSON, JUnit.

Every writer has the form `write(record, path) -> Path` and writes whole or not at all. What comes from a
record is a stranger's: it is escaped for the format it goes to, in one place per format.
"""
