#include "descriptors.h"
#include "raw.h"
#include "segment.h"
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define MOST 65536
#define PROC 0x9fa0
#define SYSFS 0x62656572

enum kind { UNSEEN, STORAGE, OTHER };

struct descriptor {
    int64_t position; /* plus one, so that zeros mean UNKNOWN */
    uint32_t name;
    uint8_t kind;
};

static struct descriptor *table; /* a fork leaves zeros of it: the child tells its names anew */

static struct descriptor *find(int descriptor) {
    return table && descriptor >= 0 && descriptor < MOST ? &table[descriptor] : NULL;
}

/* A child of vfork has descriptors of its own, but its parent's memory: what it opens and closes is not noted. */
static struct descriptor *find_to_change(int descriptor) { return is_recording() && is_own() ? find(descriptor) : NULL; }

static bool lies_on_disk(int descriptor, struct stat *is) {
    struct statfs system;
    if (RAW2(fstat, descriptor, is) || !(S_ISREG(is->st_mode) || S_ISDIR(is->st_mode) || S_ISBLK(is->st_mode)))
        return false;
    return RAW2(fstatfs, descriptor, &system) || (system.f_type != PROC && system.f_type != SYSFS);
}

bool is_storage(int descriptor) {
    struct descriptor *known = is_recording() ? find(descriptor) : NULL;
    if (!known)
        return false;
    if (known->kind == UNSEEN) {
        struct stat is;
        known->kind = lies_on_disk(descriptor, &is) ? STORAGE : OTHER;
        if (known->kind == STORAGE) {
            known->name = name_descriptor(descriptor);
            long at = RAW3(lseek, descriptor, 0, SEEK_CUR);
            TELL(.call = CALL_found, .start = now(), .result = at, .offset = is.st_size, .size = is.st_ino,
                 .descriptor = descriptor, .name = known->name,
                 .extra = (uint32_t)RAW3(fcntl, descriptor, F_GETFL, 0));
        }
    }
    return known->kind == STORAGE;
}

bool is_known_storage(int descriptor) {
    struct descriptor *known = is_recording() ? find(descriptor) : NULL;
    return known && known->kind == STORAGE;
}

uint32_t find_name(int descriptor) {
    struct descriptor *known = find(descriptor);
    return known ? known->name : 0;
}

static uint32_t name_file(int descriptor, int directory, const char *path, const struct stat *is) {
    if (!path)
        return name_descriptor(descriptor);
    return is->st_nlink ? name_opened(descriptor, directory, path) : name_path(directory, path); /* O_TMPFILE has no name */
}

void add_opened(int descriptor, int directory, const char *path, int flags, uint64_t start, uint64_t duration) {
    struct descriptor *known = find_to_change(descriptor);
    struct stat is;
    bool is_kept = is_recording() && lies_on_disk(descriptor, &is);
    uint32_t name = is_kept ? name_file(descriptor, directory, path, &is) : 0;
    if (known)
        *known = (struct descriptor){.kind = is_kept ? STORAGE : OTHER, .name = name};
    if (is_kept)
        TELL(.call = CALL_open, .start = start, .duration = duration, .result = descriptor, .offset = is.st_size,
             .size = is.st_ino, .descriptor = (int)is.st_mode, .name = name, .extra = (uint32_t)flags);
}

void copy_descriptor(int from, int to, uint64_t start, uint64_t duration) {
    struct descriptor *known = find_to_change(to);
    if (!known || from == to)
        return;
    bool is_kept = is_storage(from);
    *known = (struct descriptor){.kind = is_kept ? STORAGE : UNSEEN, .name = find_name(from)};
    if (is_kept)
        TELL(.call = CALL_dup, .start = start, .duration = duration, .result = to, .descriptor = from, .name = known->name);
}

void forget_descriptor(int descriptor) { forget_descriptors_from((unsigned)descriptor, (unsigned)descriptor); }

void forget_descriptors_from(unsigned first, unsigned last) {
    if (!find_to_change((int)first))
        return;
    for (unsigned each = first; each < MOST && each <= last; each++)
        if (table[each].kind != UNSEEN) /* what was never touched takes no memory */
            table[each] = (struct descriptor){0};
}

int64_t stream_position(int descriptor) {
    struct descriptor *known = find(descriptor);
    return known ? known->position - 1 : UNKNOWN;
}

void set_stream_position(int descriptor, int64_t position) {
    struct descriptor *known = find(descriptor);
    if (known)
        known->position = position + 1;
}

__attribute__((constructor(101))) static void make_table(void) {
    size_t size = MOST * sizeof *table;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *made = (void *)RAW6(mmap, 0, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    if ((unsigned long)made < -4096UL && RAW3(madvise, made, size, MADV_WIPEONFORK) == 0)
        table = made;
}
