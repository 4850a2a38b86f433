/* 4-D data t:x:y:z, its part of each rank, and the blocks in which a rank writes or reads its part. */
#ifndef STEELYARD_GRID_H
#define STEELYARD_GRID_H

#include "ranks.h"

typedef enum { FLOAT, DOUBLE, INT } Type;
typedef enum { CONTIGUOUS, AUTO, GIVEN } Layout;

typedef struct {
    size_t whole[4], part[4], begin[4], block[4], chunk[4];
    Layout layout;
    Type type;
    bool collective, unlimited, fill, shuffle, sync, noise;
    int deflate;
} Grid;

/* Refuses what does not divide, and chunks that are larger than the data. */
Grid read_grid(const Job *job);

size_t type_size(const Grid *grid);
size_t count_values(const size_t geometry[4]);

/* How many blocks this rank has, and where one of them begins in the whole. */
size_t count_blocks(const Grid *grid);
void locate_block(const Grid *grid, size_t number, size_t start[4]);

/* The data are a function of their place, so that whoever reads can tell whether they are right. */
void fill_block(const Grid *grid, const size_t start[4], void *values);

/* The first value of a block that is not what was written, or the number of its values where all are. */
size_t compare_block(const Grid *grid, const size_t start[4], const void *values, void *expected);

#endif
