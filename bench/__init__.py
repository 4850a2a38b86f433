"""The benchmarks of Steelyard itself: `make bench`, or `python -m bench [--quick] [NAME …]`.

Figures stand beside a peer or a floor that was measured in turns with them, in the same session and on the
same disk, because an absolute time says little on a machine that others use too. Nothing here is a test.
"""
