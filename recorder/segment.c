/* The segment of this process: made on its first call, also after a fork, and written through mappings, so that
   nothing is lost when the process is killed. It takes no lock, makes no descriptor that stays, and allocates by
   mmap alone, so that it works in signal handlers and between vfork and exec. */
#include "self.h"
#include "raw.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FIRST_CHUNK PAGE /* of a process that does little, such as those of a shell script */

static char place[PATH_MAX]; /* where segments lie; empty: nothing is recorded */
struct state *state;
static _Thread_local struct self *own;

extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
extern void *__dso_handle;

static bool is_error(const void *address) { return (unsigned long)address > -4096UL; }

static void *map(size_t size, int flags, int file, uint64_t offset) {
    return (void *)RAW6(mmap, 0, size, PROT_READ | PROT_WRITE, flags, file, offset);
}

static uint32_t add_checksum(uint32_t checksum, const void *bytes, size_t size) {
    const char *at = bytes;
    for (uint64_t word; size >= 8; size -= 8, at += 8) {
        memcpy(&word, at, 8);
#if defined __x86_64__
        checksum = (uint32_t)__builtin_ia32_crc32di(checksum, word);
#else
        checksum = __builtin_aarch64_crc32cx(checksum, word);
#endif
    }
    for (; size; size--, at++) {
#if defined __x86_64__
        checksum = __builtin_ia32_crc32qi(checksum, (unsigned char)*at);
#else
        checksum = __builtin_aarch64_crc32cb(checksum, (unsigned char)*at);
#endif
    }
    return checksum;
}

uint32_t find_checksum(const void *bytes, size_t size) { return ~add_checksum(~0u, bytes, size); }

/* Room in the segment, of zeros; NULL if there is none. Blocks are allocated before they are mapped: a write to a
   mapping that finds none would end the program. */
static char *make_room(size_t size) {
    static const char zeros[PAGE];
    uint64_t at = atomic_fetch_add(&state->end, size);
    int file = (int)RAW4(openat, AT_FDCWD, state->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0);
    if (file < 0)
        return NULL;
    bool is_there = RAW4(fallocate, file, 0, at, size) == 0;
    if (!is_there) {
        size_t written = 0;
        while (written < size && RAW4(pwrite64, file, zeros, PAGE, at + written) == PAGE)
            written += PAGE;
        is_there = written == size;
    }
    char *room = is_there ? map(size, MAP_SHARED, file, at) : NULL;
    RAW1(close, file);
    return is_error(room) ? NULL : room;
}

void write_number(char **to, uint64_t number) {
    char digits[20];
    size_t length = 0;
    do
        digits[length++] = (char)('0' + number % 10);
    while (number /= 10);
    while (length)
        *(*to)++ = digits[--length];
}

static uint64_t read_wall_clock(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t find_only_cpu(void) {
    uint64_t set[128] = {0}, only = 0;
    long bytes = RAW3(sched_getaffinity, 0, sizeof set, set);
    for (long cpu = 0; cpu < 8 * bytes; cpu++)
        if (set[cpu / 64] >> cpu % 64 & 1) {
            if (only)
                return 0;
            only = (uint64_t)cpu + 1;
        }
    return only;
}

static void describe_process(struct header *header) {
    memcpy(header->magic, MAGIC, sizeof header->magic);
    header->record = sizeof(struct record);
    header->process = state->process;
    header->parent = (int)RAW1(getppid, 0);
    header->wall = read_wall_clock();
    header->monotonic = now();
    header->cpu = find_only_cpu();
    int file = (int)RAW4(openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
    long length = RAW3(read, file, (char *)header + ARGUMENTS, PAGE - ARGUMENTS);
    RAW1(close, file);
    header->argument_bytes = length > 0 ? (uint64_t)length : 0;
    header->checksum = find_checksum(&header->record, offsetof(struct header, lost) - offsetof(struct header, record));
}

static void begin_process(void) {
    state->process = (int)RAW1(getpid, 0);
    char *to = stpcpy(state->path, place);
    *to++ = '/';
    write_number(&to, (uint64_t)state->process);
    *to++ = '-';
    write_number(&to, read_wall_clock());
    strcpy(to, ".segment");
    int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int file = (int)RAW4(openat, AT_FDCWD, state->path, flags, 0600);
    if (file >= 0)
        RAW1(close, file);
    state->header = file < 0 ? NULL : (struct header *)make_room(PAGE);
    if (state->header)
        describe_process(state->header);
}

bool is_recording(void) {
    if (!state)
        return false;
    if (!state->process)
        begin_process();
    return state->header;
}

bool is_own(void) { return RAW1(getpid, 0) == state->process; }

void count(enum counter counter, uint64_t more) {
    if (is_recording())
        __atomic_fetch_add(&state->header->lost + counter, more, __ATOMIC_RELAXED);
}

static void lock_spare(void) {
    while (atomic_flag_test_and_set(&state->spare_lock))
        RAW1(sched_yield, 0);
}

static void end_thread(void *ended) {
    struct self *self = ended;
    if (state && self->process == state->process && self->chunk.next < self->chunk.end) {
        lock_spare();
        for (size_t i = 0; i < SPARE; i++)
            if (!state->spare[i].next) {
                state->spare[i] = self->chunk;
                break;
            }
        atomic_flag_clear(&state->spare_lock);
    }
    own = NULL;
    RAW2(munmap, self, sizeof *self);
}

static struct chunk take_chunk(size_t least) {
    struct chunk chunk = {0};
    lock_spare();
    for (size_t i = 0; i < SPARE && !chunk.next; i++)
        if (state->spare[i].next && (size_t)(state->spare[i].end - state->spare[i].next) >= least) {
            chunk = state->spare[i];
            state->spare[i] = (struct chunk){0};
        }
    atomic_flag_clear(&state->spare_lock);
    if (!chunk.next) {
        size_t size = state->end == PAGE && least <= FIRST_CHUNK ? FIRST_CHUNK : CHUNK;
        char *room = make_room(size);
        if (room)
            chunk = (struct chunk){room, room, room + size};
    }
    return chunk;
}

static struct self *find_self(void) {
    struct self *self = own;
    if (!self) {
        self = map(sizeof *self, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (is_error(self))
            return NULL;
        own = self;
        __cxa_thread_atexit_impl(end_thread, self, &__dso_handle);
    }
    if (self->process != state->process) {
        memset(self, 0, sizeof *self);
        self->process = state->process;
        self->thread = (uint32_t)RAW1(gettid, 0);
    }
    return self;
}

struct self *seize(void) {
    struct self *self = is_recording() ? find_self() : NULL;
    if (!self || self->busy) {
        count(LOST, self != NULL);
        return NULL;
    }
    self->busy = true;
    return self;
}

void release(struct self *self) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self->busy = false;
}

struct record *take_records(struct self *self, size_t records) {
    size_t size = records * sizeof(struct record);
    if ((size_t)(self->chunk.end - self->chunk.next) < size) {
        if (self->chunk.begin)
            RAW2(munmap, self->chunk.begin, self->chunk.end - self->chunk.begin);
        self->chunk = state->is_full ? (struct chunk){0} : take_chunk(size);
        if (!self->chunk.next) {
            state->is_full = true;
            count(LOST, 1);
            return NULL;
        }
    }
    struct record *taken = (struct record *)self->chunk.next;
    self->chunk.next += size;
    return taken;
}

void seal(struct record *record, const struct record *filled) {
    memcpy((char *)record + 4, (const char *)filled + 4, sizeof *record - 4);
    __atomic_store_n(&record->checksum, find_checksum((const char *)filled + 4, sizeof *record - 4), __ATOMIC_RELEASE);
}

void write_told(struct self *self, const struct told *told) {
    struct record *record = take_records(self, 1);
    if (record)
        seal(record, &(struct record){.call = (uint16_t)told->call,
                                      .flags = (uint16_t)told->flags,
                                      .start = told->start,
                                      .duration = told->duration,
                                      .result = told->result,
                                      .offset = told->offset,
                                      .size = told->size,
                                      .descriptor = told->descriptor,
                                      .thread = self->thread,
                                      .name = told->name,
                                      .extra = told->extra});
}

void tell(const struct told *told) {
    struct self *self = seize();
    if (!self)
        return;
    write_told(self, told);
    release(self);
}

__attribute__((constructor(101))) static void begin(void) {
    const char *wanted = getenv("STEELYARD_TRACE");
    if (!wanted || *wanted != '/' || strlen(wanted) > PATH_MAX - 64)
        return;
    strcpy(place, wanted);
    struct state *made = map(sizeof *made, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!is_error(made) && RAW3(madvise, made, sizeof *made, MADV_WIPEONFORK) == 0)
        state = made;
    is_recording(); /* a process that makes no call is told, too */
}
