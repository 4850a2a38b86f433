/* What the other files know of the recording: when it is, and how to tell it a call. */
#ifndef SEGMENT_H
#define SEGMENT_H

#include "format.h"
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* What is told of a call; what is not named is 0, and the offset is UNKNOWN if it is left out by `TELL`. */
struct told {
    enum call call;
    enum flag flags;
    uint64_t start, duration;
    int64_t result, offset;
    uint64_t size;
    int descriptor;
    uint32_t name, extra;
};

/* Whether calls are to be told; it begins the segment of a process that was forked. */
bool is_recording(void);

/* Whether this memory is not that of a parent, which a child of vfork runs in. */
bool is_own(void);

void tell(const struct told *told);
#define TELL(...) tell(&(struct told){.offset = UNKNOWN, .descriptor = UNKNOWN, __VA_ARGS__})

/* A call, timed: `result`, `error` and the times are there afterwards. */
#define TIME(type, expression)        \
    uint64_t start = now();           \
    type result = expression;         \
    uint64_t duration = now() - start; \
    int error = errno
/* What TIME has measured, told with what is named besides. */
#define TELL_TIMED(as, ...) \
    TELL(.call = CALL_##as, .start = start, .duration = duration, .result = outcome((int64_t)result, error), __VA_ARGS__); \
    errno = error

/* The number under which a path is in the segment; it is made absolute by the directory of a descriptor. */
uint32_t name_path(int directory, const char *path);
/* The same for a path that was opened. The first time, it is noted what the kernel calls the file, if that is another
   path: there are links in it. */
uint32_t name_opened(int descriptor, int directory, const char *path);
/* The same for the path that the link `path` leads to, of which `target` is the content; 0 if that was not read. */
uint32_t name_target(int directory, const char *path, const char *target, int64_t size);
/* The same for what the kernel calls an open descriptor. */
uint32_t name_descriptor(int descriptor);
/* The working directory has changed. */
void forget_directory(void);

enum counter { LOST, IO_URING, AIO, RAW_CALLS, UNLOADED, MAPPED };
void count(enum counter counter, uint64_t more);

static inline uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* As the kernel has it. */
static inline int64_t outcome(int64_t result, int error) { return result < 0 ? -error : result; }

#endif
