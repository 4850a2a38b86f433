/* Names of files in the segment: each path is written once, as long as a thread remembers it, and a number after that. */
#include "raw.h"
#include "self.h"
#include <fcntl.h>
#include <string.h>

static uint64_t hash(const char *bytes, size_t size) { /* FNV-1a */
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
    return hash;
}

static uint32_t write_name(struct self *self, const char *path, size_t size) {
    struct record *record = take_records(self, 1 + (size + sizeof *record - 1) / sizeof *record);
    if (!record)
        return 0;
    uint32_t name = atomic_fetch_add(&state->names, 1) + 1;
    memcpy(record + 1, path, size);
    seal(record, &(struct record){.call = CALL_name,
                                  .start = now(),
                                  .size = size,
                                  .thread = self->thread,
                                  .name = name,
                                  .extra = find_checksum(path, size)});
    return name;
}

static bool is_seen(const struct self *self, uint64_t hashed) {
    return self->seen[hashed % SEEN].hash == hashed && self->seen[hashed % SEEN].name;
}

static uint32_t name_bytes(struct self *self, const char *path, size_t size) {
    uint64_t hashed = hash(path, size);
    size_t slot = hashed % SEEN;
    if (!is_seen(self, hashed)) {
        self->seen[slot].hash = hashed;
        self->seen[slot].name = write_name(self, path, size);
    }
    return self->seen[slot].name;
}

static size_t read_descriptor_link(int descriptor, char *to) {
    char link[40] = "/proc/self/fd/", *end = link + 14;
    write_number(&end, (uint64_t)(descriptor < 0 ? 0 : descriptor));
    *end = 0;
    long length = RAW4(readlinkat, AT_FDCWD, link, to, PATH_MAX - 1);
    return length > 0 ? (size_t)length : 0;
}

static size_t copy_directory(int directory, char *to) {
    if (directory != AT_FDCWD)
        return read_descriptor_link(directory, to);
    if (!state->directory_length) {
        long length = RAW2(getcwd, state->directory, PATH_MAX);
        state->directory_length = length > 1 ? (size_t)length - 1 : 0;
    }
    memcpy(to, state->directory, state->directory_length);
    return state->directory_length;
}

void forget_directory(void) {
    if (is_recording())
        state->directory_length = 0;
}

/* The path, absolute, at the start of this thread's room; its size. */
static size_t write_path(struct self *self, int directory, const char *path) {
    size_t size = strnlen(path, PATH_MAX), above = 0;
    if (*path != '/' && *path) {
        above = copy_directory(directory, self->path);
        self->path[above++] = '/';
    }
    memcpy(self->path + above, path, size);
    return above + size;
}

uint32_t name_path(int directory, const char *path) {
    struct self *self = path ? seize() : NULL;
    if (!self)
        return 0;
    uint32_t name = name_bytes(self, self->path, write_path(self, directory, path));
    release(self);
    return name;
}

uint32_t name_opened(int descriptor, int directory, const char *path) {
    struct self *self = seize();
    if (!self)
        return 0;
    size_t size = write_path(self, directory, path), real_size = 0;
    char *real = self->path + size;
    if (!is_seen(self, hash(self->path, size)))
        real_size = read_descriptor_link(descriptor, real);
    uint32_t name = name_bytes(self, self->path, size);
    if (real_size && (real_size != size || memcmp(real, self->path, size)))
        write_told(self, &(struct told){.call = CALL_resolved,
                                        .start = now(),
                                        .offset = UNKNOWN,
                                        .descriptor = UNKNOWN,
                                        .name = name,
                                        .extra = name_bytes(self, real, real_size)});
    release(self);
    return name;
}

uint32_t name_target(int directory, const char *path, const char *target, int64_t size) {
    struct self *self = size > 0 && size < PATH_MAX ? seize() : NULL;
    if (!self)
        return 0;
    size_t above = *target == '/' ? 0 : write_path(self, directory, path);
    while (above && self->path[above - 1] != '/')
        above--;
    memcpy(self->path + above, target, (size_t)size);
    uint32_t name = name_bytes(self, self->path, above + (size_t)size);
    release(self);
    return name;
}

uint32_t name_descriptor(int descriptor) {
    struct self *self = seize();
    if (!self)
        return 0;
    uint32_t name = name_bytes(self, self->path, read_descriptor_link(descriptor, self->path));
    release(self);
    return name;
}
