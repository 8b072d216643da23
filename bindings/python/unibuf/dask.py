"""Buffers between the workers of Dask.

Nothing has to be imported for that, here or in the workers: Dask sends pickles, with the content as a frame over the
sender's host copy. It arrives in host memory only, and goes to the receiver's device when it is touched there.
"""
