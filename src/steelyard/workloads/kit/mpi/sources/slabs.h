/* The benchmark of 4-D data, whatever library writes them. */
#ifndef STEELYARD_SLABS_H
#define STEELYARD_SLABS_H

#include "grid.h"

/* What a library does; all of it is called by all ranks. An operation that fails ends the program. */
typedef struct {
    void *(*open)(const Job *job, Grid *grid, const char *path, bool is_new);
    void (*transfer)(void *file, const size_t start[4], void *values, bool is_write);
    void (*close)(void *file, bool is_write);
} Library;

/* Writes or reads as the options say, and prints a line of JSON. */
void run_slabs(Job *job, const Library *library, const char *about);

#endif
