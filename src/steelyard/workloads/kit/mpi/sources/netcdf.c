/* Parallel netCDF-4: one variable `data` over t, x, y and z in one file, through HDF5 and MPI-IO. */
#include <hdf5.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdlib.h>
#include <string.h>

#include "slabs.h"

typedef struct {
    const Job *job;
    const Grid *grid;
    int file, data;
} File;

static void check(const Job *job, int answer, const char *doing, const char *about) {
    if (answer != NC_NOERR)
        fail(job, "netCDF cannot %s %s: %s", doing, about, nc_strerror(answer));
}

static void define_storage(const Job *job, Grid *grid, int file, int data) {
    const float float_value = -1;
    const double double_value = -1;
    const int int_value = -1;
    const void *value = grid->type == DOUBLE ? (const void *)&double_value
                        : grid->type == FLOAT ? (const void *)&float_value : (const void *)&int_value;
    int storage = grid->layout == CONTIGUOUS ? NC_CONTIGUOUS : NC_CHUNKED;
    const size_t *chunk = grid->layout == GIVEN ? grid->chunk : NULL; /* NULL: the library's own choice */
    check(job, nc_def_var_chunking(file, data, storage, chunk), "use", "`chunk`");
    if (grid->deflate || grid->shuffle)
        check(job, nc_def_var_deflate(file, data, grid->shuffle, grid->deflate > 0, grid->deflate), "use", "`deflate`");
    check(job, nc_def_var_fill(file, data, grid->fill ? NC_FILL : NC_NOFILL, grid->fill ? value : NULL), "use", "`fill`");
}

static void define_data(const Job *job, Grid *grid, File *file) {
    static const char *const names[] = {"time", "x", "y", "z"};
    nc_type type = grid->type == DOUBLE ? NC_DOUBLE : grid->type == FLOAT ? NC_FLOAT : NC_INT;
    int dimensions[4];
    for (int axis = 0; axis < 4; axis++) {
        size_t length = axis == 0 && grid->unlimited ? NC_UNLIMITED : grid->whole[axis];
        check(job, nc_def_dim(file->file, names[axis], length, &dimensions[axis]), "define dimension", names[axis]);
    }
    check(job, nc_def_var(file->file, "data", type, 4, dimensions, &file->data), "define", "the variable");
    define_storage(job, grid, file->file, file->data);
    check(job, nc_enddef(file->file), "define", "the variable");
}

static void read_layout(const Job *job, Grid *grid, const File *file) {
    int storage;
    size_t chunk[4];
    check(job, nc_inq_var_chunking(file->file, file->data, &storage, chunk), "read the chunks of", "the variable");
    if (storage == NC_CHUNKED)
        memcpy(grid->chunk, chunk, sizeof chunk);
    else
        grid->layout = CONTIGUOUS;
}

static void *open_file(const Job *job, Grid *grid, const char *path, bool is_new) {
    File *file = calloc(1, sizeof *file);
    if (!file)
        fail(job, "no memory is left");
    *file = (File){.job = job, .grid = grid};
    if (is_new) {
        int mode = NC_NETCDF4 | NC_CLOBBER;
        check(job, nc_create_par(path, mode, MPI_COMM_WORLD, MPI_INFO_NULL, &file->file), "create", path);
        define_data(job, grid, file);
    } else {
        check(job, nc_open_par(path, NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file->file), "open", path);
        check(job, nc_inq_varid(file->file, "data", &file->data), "find", "the variable");
    }
    read_layout(job, grid, file);
    int access = grid->collective ? NC_COLLECTIVE : NC_INDEPENDENT;
    check(job, nc_var_par_access(file->file, file->data, access), "choose", "`access`");
    return file;
}

static void transfer(void *opened, const size_t start[4], void *values, bool is_write) {
    const File *file = opened;
    int answer = is_write ? nc_put_vara(file->file, file->data, start, file->grid->block, values)
                          : nc_get_vara(file->file, file->data, start, file->grid->block, values);
    check(file->job, answer, is_write ? "write" : "read", "a block");
}

static void close_file(void *opened, bool is_write) {
    File *file = opened;
    if (is_write && file->grid->sync)
        check(file->job, nc_sync(file->file), "flush", "the file");
    check(file->job, nc_close(file->file), "close", "the file");
    free(file);
}

static void describe_library(char *into, size_t size) {
    unsigned version[3];
    char netcdf[32];
    snprintf(netcdf, sizeof netcdf, "%s", nc_inq_libvers());
    netcdf[strcspn(netcdf, " ")] = 0;
    H5get_libversion(&version[0], &version[1], &version[2]);
    snprintf(into, size, "netCDF %s, HDF5 %u.%u.%u", netcdf, version[0], version[1], version[2]);
}

int main(int argc, char **argv) {
    const Library library = {open_file, transfer, close_file};
    char about[96];
    describe_library(about, sizeof about);
    Job job = start_ranks(argc, argv, "steelyard-netcdf", about);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* netCDF says in one line what HDF5 says in fifty */
    run_slabs(&job, &library, about);
    return 0;
}
