"""A database as a job, `steelyard cluster`: the experiment that it is, and the clusters of a store."""
