/* What a thread and a process have of the segment; `names.c` and `segment.c` share it. */
#ifndef SELF_H
#define SELF_H

#include "segment.h"
#include <limits.h>
#include <stdatomic.h>

#define SEEN 128 /* names that a thread remembers */
#define SPARE 16

struct chunk {
    char *begin, *next, *end;
};

/* Of a thread. */
struct self {
    int process;
    bool busy;
    uint32_t thread;
    struct chunk chunk;
    struct {
        uint64_t hash;
        uint32_t name;
    } seen[SEEN];
    char path[3 * PATH_MAX]; /* a directory, a path below it, and where that leads */
};

/* Of the process; a fork leaves zeros of it. */
struct state {
    int process;
    bool is_full;
    struct header *header;
    atomic_uint names;
    atomic_ulong end; /* of the segment */
    atomic_flag spare_lock;
    struct chunk spare[SPARE]; /* of threads that ended */
    size_t directory_length;
    char directory[PATH_MAX];
    char path[PATH_MAX];
};

extern struct state *state;

/* This thread, if it may write to the segment; it is busy until it is released. */
struct self *seize(void);
void release(struct self *self);
/* So many records in a row, or NULL. What is left of a full chunk stays zero. */
struct record *take_records(struct self *self, size_t records);
void seal(struct record *record, const struct record *filled);
/* A call, of a thread that was seized. */
void write_told(struct self *self, const struct told *told);
uint32_t find_checksum(const void *bytes, size_t size);
void write_number(char **to, uint64_t number);

#endif
