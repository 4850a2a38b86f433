/* What the library cannot see, counted, so that a trace says what it lacks. */
#include "real.h"
#include "raw.h"
#include "segment.h"
#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

REAL(long, syscall, (long, ...))
EXPORT long syscall(long number, ...) {
    long a[6];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(rest, long);
    va_end(rest);
    switch (number) {
    case SYS_io_uring_setup:
        count(IO_URING, 1);
        break;
    case SYS_io_submit:
        count(AIO, a[1] > 0 ? (uint64_t)a[1] : 0);
        break;
    case SYS_read: case SYS_write: case SYS_pread64: case SYS_pwrite64: case SYS_readv: case SYS_writev:
    case SYS_preadv: case SYS_pwritev: case SYS_preadv2: case SYS_pwritev2: case SYS_openat: case SYS_fsync:
    case SYS_fdatasync: case SYS_copy_file_range:
        count(RAW_CALLS, 1);
    }
    return real_syscall()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define COUNTS(type, name, parameters, arguments, counter, more) \
    REAL(type, name, parameters)                                 \
    EXPORT type name parameters {                                \
        count(counter, more);                                    \
        return real_##name() arguments;                          \
    }
/* Of liburing and libaio, which make their system calls themselves. */
COUNTS(int, io_uring_queue_init, (unsigned entries, void *ring, unsigned flags), (entries, ring, flags), IO_URING, 1)
COUNTS(int, io_uring_queue_init_params, (unsigned entries, void *ring, void *with), (entries, ring, with), IO_URING, 1)
COUNTS(int, io_uring_setup, (unsigned entries, void *with), (entries, with), IO_URING, 1)
COUNTS(int, io_submit, (void *context, long requests, void **blocks), (context, requests, blocks), AIO,
       requests > 0 ? (uint64_t)requests : 0)
/* Of the C library, whose own threads do the work. */
COUNTS(int, aio_read, (void *block), (block), AIO, 1)
COUNTS(int, aio_read64, (void *block), (block), AIO, 1)
COUNTS(int, aio_write, (void *block), (block), AIO, 1)
COUNTS(int, aio_write64, (void *block), (block), AIO, 1)
COUNTS(int, lio_listio, (int mode, void *const *blocks, int requests, void *then), (mode, blocks, requests, then), AIO,
       (uint64_t)requests)
COUNTS(int, lio_listio64, (int mode, void *const *blocks, int requests, void *then), (mode, blocks, requests, then), AIO,
       (uint64_t)requests)

static bool names_loader(const char *program) {
    char bytes[PAGE];
    const Elf64_Ehdr *file = (const Elf64_Ehdr *)bytes;
    int descriptor = (int)RAW4(openat, AT_FDCWD, program, O_RDONLY | O_CLOEXEC, 0);
    long length = descriptor < 0 ? 0 : RAW3(read, descriptor, bytes, sizeof bytes);
    struct stat is = {0};
    if (descriptor >= 0) {
        RAW2(fstat, descriptor, &is);
        RAW1(close, descriptor);
    }
    if (length < (long)sizeof *file || memcmp(file->e_ident, ELFMAG, SELFMAG) != 0)
        return true; /* a script, or what cannot be read: its interpreter is judged by itself, when it starts */
    if (is.st_mode & (S_ISUID | S_ISGID) || file->e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    for (unsigned i = 0; i < file->e_phnum; i++) {
        unsigned long at = file->e_phoff + i * sizeof(Elf64_Phdr);
        if (at + sizeof(Elf64_Phdr) > (unsigned long)length)
            return true;
        if (((const Elf64_Phdr *)(bytes + at))->p_type == PT_INTERP)
            return true;
    }
    return false;
}

static bool is_preloaded(char *const *variables) {
    for (; variables && *variables; variables++)
        if (strncmp(*variables, "LD_PRELOAD=", 11) == 0)
            return true;
    return false;
}

static const char *find_program(const char *name, char *room) {
    const char *path = strchr(name, '/') ? NULL : getenv("PATH");
    while (path && *path) {
        size_t length = strcspn(path, ":"), size = strlen(name);
        if (length + size + 2 < PAGE) {
            memcpy(room, path, length);
            room[length] = '/';
            memcpy(room + length + 1, name, size + 1);
            if (RAW4(faccessat, AT_FDCWD, room, X_OK, 0) == 0)
                return room;
        }
        path += length + (path[length] == ':');
    }
    return name;
}

static void look_at(const char *program, char *const *variables) {
    char room[PAGE];
    if (is_recording() && program && !(is_preloaded(variables) && names_loader(find_program(program, room))))
        count(UNLOADED, 1);
}

#define EXECUTES(name, parameters, arguments, program, variables) \
    REAL(int, name, parameters)                                   \
    EXPORT int name parameters {                                  \
        look_at(program, variables);                              \
        return real_##name() arguments;                           \
    }
EXECUTES(execve, (const char *path, char *const words[], char *const with[]), (path, words, with), path, with)
EXECUTES(execv, (const char *path, char *const words[]), (path, words), path, environ)
EXECUTES(execvp, (const char *path, char *const words[]), (path, words), path, environ)
EXECUTES(execvpe, (const char *path, char *const words[], char *const with[]), (path, words, with), path, with)
#define SPAWN (pid_t *pid, const char *path, const posix_spawn_file_actions_t *files, const posix_spawnattr_t *how, \
               char *const words[], char *const with[])
EXECUTES(posix_spawn, SPAWN, (pid, path, files, how, words, with), path, with)
EXECUTES(posix_spawnp, SPAWN, (pid, path, files, how, words, with), path, with)
