"""Pure numbers: intervals, outliers, rank tests, stopping, histograms.

Nothing here knows a run, does I/O or holds state. Import from the modules themselves: `summary`, `interval`,
`outliers`, `stopping`, `histogram` and `over_time.autocorrelation` need the standard library only, so that a
run can use them between two trials without loading numpy.

A caller's mistake (an empty sample, NaN, an impossible confidence) raises ValueError.
"""
