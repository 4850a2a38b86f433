#include "slabs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options.h"

typedef struct {
    double open, io, close;
} Times;

/* A read from the page cache would measure memory: what this host holds of the file is dropped. */
static void evict(const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return; /* the library will say why */
    fsync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
}

static void *allocate(const Job *job, const Grid *grid) {
    size_t bytes = count_values(grid->block) * type_size(grid);
    void *values = malloc(bytes);
    if (!values)
        fail(job, "cannot allocate %zu bytes for a block; make `block` smaller", bytes);
    memset(values, 0, bytes);
    return values;
}

static void verify_block(const Job *job, const Grid *grid, const size_t start[4], const void *values, void *expected) {
    size_t at = compare_block(grid, start, values, expected), place[4], rest = at;
    if (at == count_values(grid->block))
        return;
    for (int axis = 3; axis >= 0; axis--) {
        place[axis] = start[axis] + rest % grid->block[axis];
        rest /= grid->block[axis];
    }
    fail(job, "what it read at t:x:y:z = %zu:%zu:%zu:%zu is not what was written there", place[0], place[1], place[2],
         place[3]);
}

static double transfer_blocks(const Job *job, const Library *library, const Grid *grid, void *file, bool is_write) {
    bool verify = !is_write && read_flag(job, "verify", "true", "false");
    void *values = allocate(job, grid), *expected = verify ? allocate(job, grid) : NULL;
    double spent = 0;
    size_t blocks = count_blocks(grid), start[4];
    for (size_t number = 0; number < blocks; number++) {
        locate_block(grid, number, start);
        if (is_write)
            fill_block(grid, start, values);
        double began = MPI_Wtime();
        library->transfer(file, start, values, is_write);
        spent += MPI_Wtime() - began;
        if (verify)
            verify_block(job, grid, start, values, expected);
    }
    free(values);
    free(expected);
    return spent;
}

static Times measure(const Job *job, const Library *library, Grid *grid, const char *path, bool is_write) {
    Times times;
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    void *file = library->open(job, grid, path, is_write);
    times.open = MPI_Wtime() - began;
    MPI_Barrier(MPI_COMM_WORLD); /* so that nobody's I/O waits for another's open */
    times.io = transfer_blocks(job, library, grid, file, is_write);
    MPI_Barrier(MPI_COMM_WORLD);
    began = MPI_Wtime();
    library->close(file, is_write);
    times.close = MPI_Wtime() - began;
    return times;
}

static void print_geometry(const char *name, const size_t geometry[4]) {
    printf(",\"%s\":[%zu,%zu,%zu,%zu]", name, geometry[0], geometry[1], geometry[2], geometry[3]);
}

static double find_size(const Job *job, const char *path) {
    struct stat file;
    if (stat(path, &file))
        fail(job, "cannot find %s after it was written: %s", path, strerror(errno));
    return (double)file.st_size;
}

static void print_report(const Job *job, const Grid *grid, Times times, double file_bytes, const char *about) {
    double bytes = (double)count_values(grid->part) * (double)type_size(grid), total = times.open + times.io + times.close;
    Spread spreads[] = {reduce_ranks(job, times.open), reduce_ranks(job, times.io), reduce_ranks(job, times.close),
                        reduce_ranks(job, total), reduce_ranks(job, bytes / times.io), reduce_ranks(job, bytes / total)};
    const char *const names[] = {"open", "io", "close", "total", "rank_rate", "rank_rate_total"};
    char mpi[256];
    if (job->rank)
        return;
    describe_mpi(mpi, sizeof mpi);
    printf("\n{\"ranks\":%d,\"bytes\":%.0f,\"file_bytes\":%.0f", job->ranks, bytes * job->ranks, file_bytes);
    for (size_t at = 0; at < sizeof names / sizeof *names; at++)
        print_spread(stdout, names[at], spreads[at]);
    print_geometry("block", grid->block);
    if (grid->layout != CONTIGUOUS)
        print_geometry("chunk", grid->chunk);
    print_text(stdout, "library", about);
    print_text(stdout, "mpi", mpi);
    printf("}\n");
}

void run_slabs(Job *job, const Library *library, const char *about) {
    bool is_write = read_flag(job, "operation", "write", "read");
    char path[SENTENCE];
    Grid grid = read_grid(job);
    claim_directory(job, read_text(job, "directory"));
    snprintf(path, sizeof path, "%s/data.nc", job->directory);
    if (!is_write && read_flag(job, "evict", "true", "false"))
        evict(path);
    Times times = measure(job, library, &grid, path, is_write);
    MPI_Barrier(MPI_COMM_WORLD);
    print_report(job, &grid, times, find_size(job, path), about);
    end_ranks(job);
}
