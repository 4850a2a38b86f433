#include "ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LITTLE (64UL << 10) /* bytes: a file system with less is full for our purposes */

static uint64_t hash_text(uint64_t hash, const char *text) {
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211ULL;
    return (hash ^ '\n') * 1099511628211ULL;
}

/* Ranks that were started otherwise would wait for each other for ever, or write each other's data. */
static void compare_ranks(const Job *job, const char *about) {
    uint64_t mine = hash_text(14695981039346656037ULL, about), first;
    for (char **option = job->options; *option; option++)
        mine = hash_text(mine, *option);
    first = mine;
    MPI_Bcast(&first, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (mine != first)
        fail(job, "it was started with other options, or with another version (%s), than rank 0; run "
                  "`steelyard install` on all hosts", about);
    MPI_Barrier(MPI_COMM_WORLD);
}

Job start_ranks(int argc, char **argv, const char *program, const char *about) {
    Job job = {.program = program, .directory = ".", .options = argv + 1};
    int length = 0;
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        printf("%s\n", about);
        exit(0);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
    MPI_Get_processor_name(job.host, &length);
    compare_ranks(&job, about);
    return job;
}

static void name_token(const Job *job, char *into, size_t size) {
    snprintf(into, size, "%s/ranks.lock", job->directory);
}

void claim_directory(Job *job, const char *directory) {
    char token[SENTENCE];
    job->directory = directory;
    name_token(job, token, sizeof token);
    if (job->rank == 0) {
        int file = open(token, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
        if (file < 0 && errno == EEXIST)
            fail(job, "another program already works in %s: the launcher started separate programs and not "
                      "ranks of one; choose one that starts MPI, such as `launcher: mpirun`", job->directory);
        if (file < 0)
            fail(job, "cannot create %s: %s", token, strerror(errno));
        close(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (access(token, F_OK))
        fail(job, "it does not see the file that rank 0 created in %s (%s); set `directory` to a file system "
                  "that all hosts share", job->directory, strerror(errno));
    MPI_Barrier(MPI_COMM_WORLD);
}

void end_ranks(const Job *job) {
    char token[SENTENCE];
    name_token(job, token, sizeof token);
    MPI_Barrier(MPI_COMM_WORLD);
    if (job->rank == 0)
        unlink(token);
    MPI_Finalize();
}

static const char *explain_full(const Job *job, const char *said) {
    struct statvfs space;
    if (strstr(said, strerror(ENOSPC)) || statvfs(job->directory, &space))
        return "";
    return space.f_bavail * space.f_frsize < LITTLE ? "; No space left on device" : "";
}

void fail(const Job *job, const char *format, ...) {
    char said[SENTENCE];
    va_list rest;
    va_start(rest, format);
    vsnprintf(said, sizeof said, format, rest);
    va_end(rest);
    fprintf(stderr, "%s: rank %d on %s: %s%s\n", job->program, job->rank, job->host, said, explain_full(job, said));
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

void refuse(const Job *job, const char *format, ...) {
    va_list rest;
    if (job->rank == 0) {
        fprintf(stderr, "%s: ", job->program);
        va_start(rest, format);
        vfprintf(stderr, format, rest);
        va_end(rest);
        fputs("\n", stderr);
        fflush(stderr);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    exit(2);
}

Spread reduce_ranks(const Job *job, double figure) {
    Spread spread = {0, 0, 0};
    MPI_Reduce(&figure, &spread.least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&figure, &spread.mean, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&figure, &spread.most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    spread.mean /= job->ranks;
    return spread;
}

void print_spread(FILE *to, const char *name, Spread spread) {
    fprintf(to, ",\"%s\":[%.9g,%.9g,%.9g]", name, spread.least, spread.mean, spread.most);
}

void print_text(FILE *to, const char *name, const char *text) {
    fprintf(to, ",\"%s\":\"", name);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', to);
        fputc((unsigned char)*text < ' ' ? ' ' : *text, to);
    }
    fputc('"', to);
}

void describe_mpi(char *into, size_t size) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = 0;
    snprintf(into, size, "%s", text);
}
