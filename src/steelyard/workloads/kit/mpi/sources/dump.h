/* Dumps of a mesh in time steps, as a simulation makes them: what is written, and by which interface. */
#ifndef STEELYARD_DUMP_H
#define STEELYARD_DUMP_H

#include "ranks.h"

typedef struct {
    const Job *job;
    MPI_Comm group;       /* ranks that write the same file, in order */
    int rank, ranks;      /* of this rank in its group, and how many it has */
    int files, number;    /* of a dump, and which of them this rank's group writes */
    bool shared;          /* all ranks of a group at once (SIF), or one after the other (MIF) */
    bool collective, sync;
    size_t parts, first;  /* how many this rank has, and the number of its first one in its group */
    size_t all_parts, most_parts; /* of the group, and of the rank that has most */
    size_t arrays;        /* coordinates and variables of each part */
    const size_t *values; /* of doubles in each array */
    double *memory;       /* as many as the largest array has */
} Dump;

/* What an interface does with one file of a dump; an operation that fails ends the program. */
typedef void (*Writer)(const Dump *dump, const char *path);
void write_posix(const Dump *dump, const char *path);
void write_hdf5(const Dump *dump, const char *path);

/* In MIF, ranks of a group write one after the other: waits for this rank's turn, and gives it to the next. */
void take_turn(const Dump *dump);
void pass_turn(const Dump *dump);

/* Values that tell of part, array and place. */
void fill_array(const Dump *dump, size_t part, size_t array);

#endif
