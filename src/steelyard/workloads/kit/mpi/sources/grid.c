#include "grid.h"

#include <stdint.h>
#include <string.h>

#include "options.h"

static const char *const AXES[] = {"t", "x", "y", "z"};

size_t type_size(const Grid *grid) { return grid->type == DOUBLE ? 8 : 4; }

size_t count_values(const size_t geometry[4]) { return geometry[0] * geometry[1] * geometry[2] * geometry[3]; }

static Type read_type(const Job *job) {
    const char *text = read_text(job, "type");
    if (!strcmp(text, "double"))
        return DOUBLE;
    return read_flag(job, "type", "float", "int") ? FLOAT : INT;
}

/* Ranks share x, and y where they are told to. */
static void divide_among_ranks(const Job *job, Grid *grid) {
    size_t along_y = (size_t)read_count(job, "ranks_along_y", 1), ranks = (size_t)job->ranks;
    if (ranks % along_y)
        refuse(job, "ranks_along_y: %zu does not divide the %zu ranks", along_y, ranks);
    size_t along[4] = {1, ranks / along_y, along_y, 1};
    for (int axis = 0; axis < 4; axis++) {
        if (grid->whole[axis] % along[axis])
            refuse(job, "geometry: %s = %zu is not divisible by the %zu ranks along it; change `geometry`, `ranks` or "
                        "`ranks_along_y`", AXES[axis], grid->whole[axis], along[axis]);
        grid->part[axis] = grid->whole[axis] / along[axis];
    }
    grid->begin[0] = grid->begin[3] = 0;
    grid->begin[1] = (size_t)job->rank / along_y * grid->part[1];
    grid->begin[2] = (size_t)job->rank % along_y * grid->part[2];
}

static void read_block(const Job *job, Grid *grid) {
    if (!strcmp(read_text(job, "block"), "auto")) {
        memcpy(grid->block, grid->part, sizeof grid->block);
        grid->block[0] = 1;
        return;
    }
    read_geometry(job, "block", grid->block);
    for (int axis = 0; axis < 4; axis++)
        if (grid->part[axis] % grid->block[axis])
            refuse(job, "block: %s = %zu does not divide the %zu that each rank has; change `block` or `ranks`",
                   AXES[axis], grid->block[axis], grid->part[axis]);
}

static void read_chunk(const Job *job, Grid *grid) {
    const char *text = read_text(job, "chunk");
    grid->layout = !strcmp(text, "contiguous") ? CONTIGUOUS : !strcmp(text, "auto") ? AUTO : GIVEN;
    memcpy(grid->chunk, grid->block, sizeof grid->chunk);
    if (grid->layout != GIVEN)
        return;
    read_geometry(job, "chunk", grid->chunk);
    for (int axis = 0; axis < 4; axis++)
        if (grid->chunk[axis] > grid->whole[axis])
            refuse(job, "chunk: %s = %zu is more than the %zu of the geometry", AXES[axis], grid->chunk[axis],
                   grid->whole[axis]);
}

Grid read_grid(const Job *job) {
    Grid grid = {.type = read_type(job)};
    read_geometry(job, "geometry", grid.whole);
    divide_among_ranks(job, &grid);
    read_block(job, &grid);
    read_chunk(job, &grid);
    grid.collective = read_flag(job, "access", "collective", "independent");
    grid.noise = read_flag(job, "data", "noise", "ramp");
    grid.unlimited = read_flag(job, "unlimited", "true", "false");
    grid.fill = read_flag(job, "fill", "true", "false");
    grid.shuffle = read_flag(job, "shuffle", "true", "false");
    grid.sync = read_flag(job, "sync", "true", "false");
    grid.deflate = (int)read_count(job, "deflate", 0);
    return grid;
}

size_t count_blocks(const Grid *grid) { return count_values(grid->part) / count_values(grid->block); }

void locate_block(const Grid *grid, size_t number, size_t start[4]) {
    for (int axis = 3; axis >= 0; axis--) {
        size_t along = grid->part[axis] / grid->block[axis];
        start[axis] = grid->begin[axis] + number % along * grid->block[axis];
        number /= along;
    }
}

/* Of 24 bits, which a float holds: the index itself, which compresses well, or its bits mixed. */
static uint32_t make_value(uint64_t index, bool noise) {
    if (noise) {
        index ^= index >> 33;
        index *= 0xff51afd7ed558ccdULL;
        index ^= index >> 33;
        index *= 0xc4ceb9fe1a85ec53ULL;
        index ^= index >> 33;
    }
    return (uint32_t)(index & 0xffffff);
}

static void fill_row(const Grid *grid, uint64_t index, size_t at, void *values) {
    for (size_t z = 0; z < grid->block[3]; z++) {
        uint32_t value = make_value(index + z, grid->noise);
        if (grid->type == DOUBLE)
            ((double *)values)[at + z] = value;
        else if (grid->type == FLOAT)
            ((float *)values)[at + z] = (float)value;
        else
            ((int32_t *)values)[at + z] = (int32_t)value;
    }
}

void fill_block(const Grid *grid, const size_t start[4], void *values) {
    size_t at = 0;
    for (size_t t = start[0]; t < start[0] + grid->block[0]; t++)
        for (size_t x = start[1]; x < start[1] + grid->block[1]; x++)
            for (size_t y = start[2]; y < start[2] + grid->block[2]; y++, at += grid->block[3]) {
                uint64_t row = ((uint64_t)t * grid->whole[1] + x) * grid->whole[2] + y;
                fill_row(grid, row * grid->whole[3] + start[3], at, values);
            }
}

size_t compare_block(const Grid *grid, const size_t start[4], const void *values, void *expected) {
    size_t count = count_values(grid->block), size = type_size(grid), at = 0;
    fill_block(grid, start, expected);
    if (!memcmp(values, expected, count * size))
        return count;
    while (!memcmp((const char *)values + at * size, (const char *)expected + at * size, size))
        at++;
    return at;
}
