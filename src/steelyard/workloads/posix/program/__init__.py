"""The program that tries the cases; its files are joined into one text, which the host's Python runs.

It uses the standard library alone and the syntax of Python 3.6. Annotations with generics are quoted, and
every name at the top of a file is that of one thing in all files.
"""
