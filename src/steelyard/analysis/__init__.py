"""A run seen through `store.reader`: what it found, whether that was enough, and how two runs compare.

Nothing here executes, writes or knows a plug-in, so a result can be looked at again years later, elsewhere.
"""
