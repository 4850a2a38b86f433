/* Mesh parts with several variables, written in dumps, in the manner of a simulation's checkpoints. */
#include "dump.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "hdf5_reason.h"
#include "options.h"

#define MOST_ARRAYS 10000

typedef struct {
    double least, mean, most, bytes;
} Timing;

typedef struct {
    Writer write;
    int dumps;
    double compute, growth;
    bool work;
} Plan;

void take_turn(const Dump *dump) {
    if (dump->rank)
        MPI_Recv(NULL, 0, MPI_BYTE, dump->rank - 1, 0, dump->group, MPI_STATUS_IGNORE);
}

void pass_turn(const Dump *dump) {
    if (dump->rank + 1 < dump->ranks)
        MPI_Send(NULL, 0, MPI_BYTE, dump->rank + 1, 0, dump->group);
}

void fill_array(const Dump *dump, size_t part, size_t array) {
    double base = (double)((dump->first + part) * 1000 + array);
    for (size_t at = 0; at < dump->values[array]; at++)
        dump->memory[at] = base + (double)at * 1e-6;
}

/* Ranks in groups of about the same size, one group for each file of a dump. */
static void form_groups(const Job *job, Dump *dump) {
    dump->files = (int)read_count(job, "files", 1);
    if (dump->files > job->ranks)
        refuse(job, "files: %d files are more than the %d ranks; set `files` to at most %d", dump->files, job->ranks,
               job->ranks);
    dump->number = (int)((long long)job->rank * dump->files / job->ranks);
    MPI_Comm_split(MPI_COMM_WORLD, dump->number, job->rank, &dump->group);
    MPI_Comm_rank(dump->group, &dump->rank);
    MPI_Comm_size(dump->group, &dump->ranks);
}

/* 2.5 parts a rank are 2 for some and 3 for others, of which the total is right. */
static void share_parts(const Job *job, Dump *dump) {
    double average = read_number(job, "parts");
    unsigned long long own, before = 0, all, most;
    own = (unsigned long long)(floor(average * (job->rank + 1) + 1e-9) - floor(average * job->rank + 1e-9));
    MPI_Exscan(&own, &before, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, dump->group);
    MPI_Allreduce(&own, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, dump->group);
    MPI_Allreduce(&own, &most, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, dump->group);
    dump->parts = own;
    dump->first = dump->rank ? before : 0;
    dump->all_parts = all;
    dump->most_parts = most;
}

/* A square mesh of as many nodes as a variable has values; coordinates by the kind of the mesh. */
static size_t count_coordinates(const Job *job, size_t values, size_t lengths[3]) {
    const char *type = read_text(job, "part_type");
    size_t side = (size_t)sqrt((double)values);
    lengths[0] = lengths[1] = strcmp(type, "rectilinear") ? values : side;
    lengths[2] = 4 * (side > 1 ? (side - 1) * (side - 1) : 1); /* four nodes of each cell */
    return !strcmp(type, "uniform") ? 0 : strcmp(type, "unstructured") ? 2 : 3; /* x, y, and cells */
}

static void size_arrays(const Job *job, Dump *dump, double growth) {
    size_t values = (size_t)((double)read_count(job, "part_size", 8) * growth) / sizeof(double), lengths[3], most = values;
    size_t variables = (size_t)read_count(job, "vars", 1), coordinates = count_coordinates(job, values, lengths);
    if (variables > MOST_ARRAYS)
        refuse(job, "vars: %zu variables are more than %d", variables, MOST_ARRAYS);
    size_t *sizes = malloc((coordinates + variables) * sizeof *sizes);
    for (size_t array = 0; sizes && array < coordinates + variables; array++) {
        sizes[array] = array < coordinates ? lengths[array] : values;
        most = sizes[array] > most ? sizes[array] : most;
    }
    free((void *)dump->values);
    free(dump->memory);
    dump->arrays = coordinates + variables;
    dump->values = sizes;
    dump->memory = malloc(most * sizeof(double));
    if (!sizes || !dump->memory)
        fail(job, "cannot allocate %zu bytes for an array; make `part_size` smaller", most * sizeof(double));
}

static double count_bytes(const Dump *dump) {
    double values = 0;
    for (size_t array = 0; array < dump->arrays; array++)
        values += (double)dump->values[array];
    return values * sizeof(double) * (double)dump->parts;
}

static void name_file(const Dump *dump, int number, char path[SENTENCE]) {
    snprintf(path, SENTENCE, "%s/dump_%05d_%03d", dump->job->directory, dump->number, number);
}

/* What a simulation does between dumps: waits for the clock, or keeps the core busy. */
static void compute(const Plan *plan) {
    double end = MPI_Wtime() + plan->compute;
    volatile double number = 1;
    struct timespec rest = {(time_t)plan->compute, (long)(fmod(plan->compute, 1) * 1e9)};
    if (!plan->work)
        nanosleep(&rest, NULL);
    while (plan->work && MPI_Wtime() < end)
        for (int at = 0; at < 10000; at++)
            number = number * 1.0000001 + 1e-9;
}

static Timing measure_dump(const Dump *dump, const Plan *plan, int number, double *own) {
    char path[SENTENCE];
    double all;
    name_file(dump, number, path);
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    plan->write(dump, path);
    double took = MPI_Wtime() - began, bytes = count_bytes(dump);
    Spread spread = reduce_ranks(dump->job, took);
    MPI_Reduce(&bytes, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    own[0] += took;
    own[1] += bytes;
    return (Timing){spread.least, spread.mean, spread.most, all};
}

static double count_file_bytes(const Dump *dump, int dumps) {
    double own = 0, all = 0;
    for (int number = 0; dump->rank == 0 && number < dumps; number++) {
        char path[SENTENCE];
        struct stat file;
        name_file(dump, number, path);
        if (stat(path, &file))
            fail(dump->job, "cannot find %s after it was written: %s", path, strerror(errno));
        own += (double)file.st_size;
    }
    MPI_Reduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    return all;
}

static void print_report(const Dump *dump, const Plan *plan, const Timing *timings, double elapsed, double summed,
                         const char *about) {
    char mpi[256];
    double file_bytes = count_file_bytes(dump, plan->dumps);
    if (dump->job->rank)
        return;
    describe_mpi(mpi, sizeof mpi);
    printf("\n{\"ranks\":%d,\"files\":%d,\"elapsed\":%.9g,\"summed_rate\":%.9g,\"file_bytes\":%.0f", dump->job->ranks,
           dump->files, elapsed, summed, file_bytes);
    print_text(stdout, "library", about);
    print_text(stdout, "mpi", mpi);
    printf(",\"dumps\":[");
    for (int number = 0; number < plan->dumps; number++) {
        const Timing *one = &timings[number];
        printf("%s{\"bytes\":%.0f,\"time\":[%.9g,%.9g,%.9g]}", number ? "," : "", one->bytes, one->least, one->mean,
               one->most);
    }
    printf("]}\n");
}

static void run_dumps(const Job *job, Dump *dump, const Plan *plan, const char *about) {
    Timing *timings = calloc((size_t)plan->dumps, sizeof *timings);
    double own[2] = {0, 0}, growth = 1, summed = 0, began = MPI_Wtime();
    for (int number = 0; timings && number < plan->dumps; number++, growth *= plan->growth) {
        size_arrays(job, dump, growth);
        if (plan->compute > 0)
            compute(plan);
        timings[number] = measure_dump(dump, plan, number, own);
    }
    Spread elapsed = reduce_ranks(job, MPI_Wtime() - began);
    double rate = own[0] > 0 ? own[1] / own[0] : 0;
    MPI_Reduce(&rate, &summed, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    print_report(dump, plan, timings, elapsed.most, summed, about);
    free(timings);
}

int main(int argc, char **argv) {
    unsigned version[3];
    char about[64];
    H5get_libversion(&version[0], &version[1], &version[2]);
    snprintf(about, sizeof about, "HDF5 %u.%u.%u", version[0], version[1], version[2]);
    Job job = start_ranks(argc, argv, "steelyard-dump", about);
    silence_hdf5();
    Dump dump = {.job = &job,
                 .shared = read_flag(&job, "mode", "SIF", "MIF"),
                 .collective = read_flag(&job, "access", "collective", "independent"),
                 .sync = read_flag(&job, "sync", "true", "false")};
    const Plan plan = {.write = read_flag(&job, "interface", "hdf5", "posix") ? write_hdf5 : write_posix,
                       .dumps = (int)read_count(&job, "dumps", 1),
                       .compute = read_number(&job, "compute_time"),
                       .growth = read_number(&job, "growth"),
                       .work = read_count(&job, "compute_work_intensity", 1) > 1};
    form_groups(&job, &dump);
    share_parts(&job, &dump);
    claim_directory(&job, read_text(&job, "directory"));
    run_dumps(&job, &dump, &plan, about);
    end_ranks(&job);
    return 0;
}
