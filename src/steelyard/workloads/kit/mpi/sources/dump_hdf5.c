/* HDF5: in MIF a serial file that goes from rank to rank, in SIF one through MPI-IO; a dataset for each array. */
#include "dump.h"
#include "hdf5_reason.h"

static hid_t check(const Dump *dump, hid_t answer, const char *doing, const char *path) {
    char reason[REASON];
    if (answer < 0)
        fail(dump->job, "HDF5 cannot %s %s: %s", doing, path, explain_hdf5(reason));
    return answer;
}

static hid_t create_dataset(const Dump *dump, hid_t file, const char *path, const char *name, int axes,
                            const hsize_t lengths[2]) {
    hid_t layout = check(dump, H5Pcreate(H5P_DATASET_CREATE), "describe a dataset of", path);
    hid_t space = check(dump, H5Screate_simple(axes, lengths, NULL), "describe a dataset of", path);
    check(dump, H5Pset_fill_time(layout, H5D_FILL_TIME_NEVER), "describe a dataset of", path);
    hid_t data = H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    check(dump, data, "create a dataset of", path);
    H5Pclose(layout);
    H5Sclose(space);
    return data;
}

static void write_own(const Dump *dump, hid_t file, const char *path, size_t part, size_t array) {
    char name[64];
    const hsize_t length[2] = {dump->values[array], 1};
    snprintf(name, sizeof name, "part%zu_array%zu", dump->first + part, array);
    fill_array(dump, part, array);
    hid_t data = create_dataset(dump, file, path, name, 1, length);
    check(dump, H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, dump->memory), "write", path);
    H5Dclose(data);
}

/* A rank that has fewer parts than others takes part with nothing. */
static void write_row(const Dump *dump, hid_t data, hid_t transfer, const char *path, size_t part, size_t array) {
    const hsize_t start[2] = {dump->first + part, 0}, count[2] = {1, dump->values[array]};
    hid_t space = check(dump, H5Dget_space(data), "select a part of", path);
    hid_t memory = check(dump, H5Screate_simple(2, count, NULL), "select a part of", path);
    if (part < dump->parts) {
        fill_array(dump, part, array);
        check(dump, H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL), "select a part of", path);
    } else {
        H5Sselect_none(space);
        H5Sselect_none(memory);
    }
    if (part < dump->parts || dump->collective)
        check(dump, H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, transfer, dump->memory), "write", path);
    H5Sclose(memory);
    H5Sclose(space);
}

static void write_shared(const Dump *dump, hid_t file, const char *path) {
    hid_t transfer = check(dump, H5Pcreate(H5P_DATASET_XFER), "write", path);
    check(dump, H5Pset_dxpl_mpio(transfer, dump->collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT), "write", path);
    for (size_t array = 0; array < dump->arrays; array++) {
        char name[64];
        const hsize_t lengths[2] = {dump->all_parts, dump->values[array]};
        snprintf(name, sizeof name, "array%zu", array);
        hid_t data = create_dataset(dump, file, path, name, 2, lengths);
        for (size_t part = 0; part < dump->most_parts; part++)
            write_row(dump, data, transfer, path, part, array);
        H5Dclose(data);
    }
    H5Pclose(transfer);
}

static void close_file(const Dump *dump, hid_t file, const char *path) {
    if (dump->sync)
        check(dump, H5Fflush(file, H5F_SCOPE_GLOBAL), "flush", path);
    check(dump, H5Fclose(file), "close", path);
}

void write_hdf5(const Dump *dump, const char *path) {
    hid_t access = check(dump, H5Pcreate(H5P_FILE_ACCESS), "open", path);
    if (dump->shared) {
        check(dump, H5Pset_fapl_mpio(access, dump->group, MPI_INFO_NULL), "open", path);
        hid_t file = check(dump, H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access), "create", path);
        write_shared(dump, file, path);
        close_file(dump, file, path);
    } else {
        take_turn(dump);
        hid_t file = dump->rank ? H5Fopen(path, H5F_ACC_RDWR, access) : H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
        check(dump, file, dump->rank ? "open" : "create", path);
        for (size_t part = 0; part < dump->parts; part++)
            for (size_t array = 0; array < dump->arrays; array++)
                write_own(dump, file, path, part, array);
        close_file(dump, file, path);
        pass_turn(dump);
    }
    H5Pclose(access);
}
