"""The sections of a report as plain text and tables, the same for HTML and Markdown; nothing is escaped here.

Their order is that of IEEE 829 test documentation: what was tested and how, what came of it, what happened
besides. Source: IEEE Standard for Software Test Documentation, IEEE 829-1998, clauses 4 to 11.
"""
