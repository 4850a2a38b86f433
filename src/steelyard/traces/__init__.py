"""I/O traces: what an application asked of its storage, call by call.

`segments` reads what the recorder's library wrote while the application ran, `table` makes one Parquet table
of it, `profile` says what the application does to its storage; `recording` runs a program under the library.
`recorder/` beside `src/` is the library, in C; `calls.def` is the list of calls that both know.
"""
