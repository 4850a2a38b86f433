/* Why HDF5 failed, in one line instead of its stack of errors. */
#ifndef STEELYARD_HDF5_REASON_H
#define STEELYARD_HDF5_REASON_H

#include <hdf5.h>

#define REASON 400

/* Has HDF5 keep its errors to itself. */
void silence_hdf5(void);

/* The innermost error of the stack, with what it says about the outermost. */
const char *explain_hdf5(char into[REASON]);

#endif
