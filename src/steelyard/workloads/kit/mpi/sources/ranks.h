/* The ranks of one program: how they start, agree, refuse what cannot be done, and fail with one sentence. */
#ifndef STEELYARD_RANKS_H
#define STEELYARD_RANKS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>

#define SENTENCE 1024

typedef struct {
    const char *program;   /* for messages */
    const char *directory; /* of the option, where all ranks see the files */
    char **options;        /* words `name=value` */
    int rank, ranks;
    char host[MPI_MAX_PROCESSOR_NAME];
} Job;

/* Prints `about` for `--version`, starts MPI, and has the ranks agree that they were started alike. */
Job start_ranks(int argc, char **argv, const char *program, const char *about);

/* Has all ranks see the same directory, and nobody else use it. */
void claim_directory(Job *job, const char *directory);

/* Gives the files free, and ends MPI. */
void end_ranks(const Job *job);

/* One rank met what the others need not know yet: its sentence, and the end of all. */
_Noreturn void fail(const Job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* All ranks know that it cannot be done: the first says so. */
_Noreturn void refuse(const Job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The smallest, mean and largest of a figure over the ranks, on the first. */
typedef struct {
    double least, mean, most;
} Spread;
Spread reduce_ranks(const Job *job, double figure);

void print_spread(FILE *to, const char *name, Spread spread);

/* `,"name":"text"` with what JSON wants escaped. */
void print_text(FILE *to, const char *name, const char *text);

/* The name and version of the MPI library, in one line. */
void describe_mpi(char *into, size_t size);

#endif
