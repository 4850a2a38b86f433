/* Parallel HDF5: one dataset `data` in one file, through MPI-IO. */
#include <stdlib.h>

#include "hdf5_reason.h"
#include "slabs.h"

typedef struct {
    const Job *job;
    const Grid *grid;
    hid_t file, data, transfer;
} File;

/* What HDF5 answered, unless that is a failure of what we were `doing`. */
static hid_t check(const Job *job, hid_t answer, const char *doing, const char *about) {
    char reason[REASON];
    if (answer < 0)
        fail(job, "HDF5 cannot %s %s: %s", doing, about, explain_hdf5(reason));
    return answer;
}

static hid_t choose_type(const Grid *grid) {
    return grid->type == DOUBLE ? H5T_NATIVE_DOUBLE : grid->type == FLOAT ? H5T_NATIVE_FLOAT : H5T_NATIVE_INT;
}

static void copy_lengths(const size_t from[4], hsize_t into[4]) {
    for (int axis = 0; axis < 4; axis++)
        into[axis] = from[axis];
}

static hid_t make_layout(const Job *job, const Grid *grid) {
    hid_t layout = check(job, H5Pcreate(H5P_DATASET_CREATE), "describe", "the dataset");
    hsize_t chunk[4];
    copy_lengths(grid->chunk, chunk);
    if (grid->layout != CONTIGUOUS)
        check(job, H5Pset_chunk(layout, 4, chunk), "use", "`chunk`");
    if (grid->shuffle)
        check(job, H5Pset_shuffle(layout), "use", "`shuffle`");
    if (grid->deflate)
        check(job, H5Pset_deflate(layout, (unsigned)grid->deflate), "use", "`deflate`");
    check(job, H5Pset_fill_time(layout, grid->fill ? H5D_FILL_TIME_ALLOC : H5D_FILL_TIME_NEVER), "use", "`fill`");
    if (grid->fill) {
        double value = -1;
        check(job, H5Pset_fill_value(layout, H5T_NATIVE_DOUBLE, &value), "use", "`fill`");
    }
    return layout;
}

static hid_t create_dataset(const Job *job, const Grid *grid, hid_t file) {
    hsize_t lengths[4], most[4];
    copy_lengths(grid->whole, lengths);
    copy_lengths(grid->whole, most);
    if (grid->unlimited) {
        lengths[0] = 0;
        most[0] = H5S_UNLIMITED;
    }
    hid_t space = check(job, H5Screate_simple(4, lengths, most), "describe", "the geometry");
    hid_t layout = make_layout(job, grid);
    hid_t data = check(job, H5Dcreate2(file, "data", choose_type(grid), space, H5P_DEFAULT, layout, H5P_DEFAULT), "create",
                       "the dataset");
    H5Pclose(layout);
    H5Sclose(space);
    return data;
}

/* Which chunks a file that is read really has. */
static void read_layout(const Job *job, Grid *grid, hid_t data) {
    hsize_t chunk[4];
    hid_t layout = check(job, H5Dget_create_plist(data), "read the layout of", "the dataset");
    if (H5Pget_layout(layout) == H5D_CHUNKED && H5Pget_chunk(layout, 4, chunk) == 4)
        for (int axis = 0; axis < 4; axis++)
            grid->chunk[axis] = chunk[axis];
    H5Pclose(layout);
}

static void *open_file(const Job *job, Grid *grid, const char *path, bool is_new) {
    File *file = calloc(1, sizeof *file);
    hid_t access = check(job, H5Pcreate(H5P_FILE_ACCESS), "open", path);
    if (!file)
        fail(job, "no memory is left");
    *file = (File){.job = job, .grid = grid};
    check(job, H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL), "use", "MPI-IO");
    file->file = is_new ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access) : H5Fopen(path, H5F_ACC_RDONLY, access);
    check(job, file->file, is_new ? "create" : "open", path);
    H5Pclose(access);
    file->data = is_new ? create_dataset(job, grid, file->file)
                        : check(job, H5Dopen2(file->file, "data", H5P_DEFAULT), "open", "the dataset");
    read_layout(job, grid, file->data);
    file->transfer = check(job, H5Pcreate(H5P_DATASET_XFER), "choose", "`access`");
    check(job, H5Pset_dxpl_mpio(file->transfer, grid->collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT), "choose",
          "`access`");
    return file;
}

/* All ranks extend time together, as a model does that goes on. */
static void extend(const File *file, size_t time) {
    hsize_t lengths[4];
    copy_lengths(file->grid->whole, lengths);
    lengths[0] = time;
    check(file->job, H5Dset_extent(file->data, lengths), "extend", "the dataset");
}

static void transfer(void *opened, const size_t start[4], void *values, bool is_write) {
    const File *file = opened;
    const Grid *grid = file->grid;
    hsize_t begin[4], count[4];
    copy_lengths(start, begin);
    copy_lengths(grid->block, count);
    if (is_write && grid->unlimited)
        extend(file, start[0] + grid->block[0]);
    hid_t space = check(file->job, H5Dget_space(file->data), "select", "a block");
    hid_t memory = check(file->job, H5Screate_simple(4, count, NULL), "select", "a block");
    check(file->job, H5Sselect_hyperslab(space, H5S_SELECT_SET, begin, NULL, count, NULL), "select", "a block");
    herr_t answer = is_write ? H5Dwrite(file->data, choose_type(grid), memory, space, file->transfer, values)
                             : H5Dread(file->data, choose_type(grid), memory, space, file->transfer, values);
    check(file->job, answer, is_write ? "write" : "read", "a block");
    H5Sclose(memory);
    H5Sclose(space);
}

static void close_file(void *opened, bool is_write) {
    File *file = opened;
    if (is_write && file->grid->sync)
        check(file->job, H5Fflush(file->file, H5F_SCOPE_GLOBAL), "flush", "the file");
    H5Pclose(file->transfer);
    check(file->job, H5Dclose(file->data), "close", "the dataset");
    check(file->job, H5Fclose(file->file), "close", "the file");
    free(file);
}

int main(int argc, char **argv) {
    const Library library = {open_file, transfer, close_file};
    unsigned version[3];
    char about[64];
    H5get_libversion(&version[0], &version[1], &version[2]);
    snprintf(about, sizeof about, "HDF5 %u.%u.%u", version[0], version[1], version[2]);
    Job job = start_ranks(argc, argv, "steelyard-hdf5", about);
    silence_hdf5();
    run_slabs(&job, &library, about);
    return 0;
}
