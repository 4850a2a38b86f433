/* Which descriptors are storage, and what the C library does not tell of the streams on them. */
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether it is a file or a directory of a disk, by a look at the kernel's answer on its first use. Everything
   else (sockets, pipes, terminals, /proc) is left alone. */
bool is_storage(int descriptor);
/* The same without a look: false on what was not used yet. */
bool is_known_storage(int descriptor);
/* The number of its name in the segment. */
uint32_t find_name(int descriptor);
/* What was opened, with what is to be said of it. */
void add_opened(int descriptor, int directory, const char *path, int flags, uint64_t start, uint64_t duration);
/* The same, or that nothing was; `result` is the descriptor or below zero, and errno as it was left. */
void tell_open(int result, int directory, const char *path, int flags, uint64_t start, uint64_t duration);
/* It is another one for the same file. */
void copy_descriptor(int from, int to, uint64_t start, uint64_t duration);
void forget_descriptor(int descriptor);
void forget_descriptors_from(unsigned first, unsigned last);

/* Where the stream on it stands; UNKNOWN where nobody looked. */
int64_t stream_position(int descriptor);
void set_stream_position(int descriptor, int64_t position);

#endif
