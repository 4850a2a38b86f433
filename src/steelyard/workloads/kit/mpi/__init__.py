"""Programs over MPI that Steelyard brings as sources: parallel netCDF and HDF5, and dumps of meshes."""
