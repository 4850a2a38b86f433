/* Calls on an open descriptor that move bytes, or see to it that they have moved. */
#include "descriptors.h"
#include "real.h"
#include "segment.h"
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>
#include <fcntl.h>

static size_t add_lengths(const struct iovec *parts, int count) {
    size_t size = 0;
    for (int i = 0; i < count; i++)
        size += parts[i].iov_len;
    return size;
}

/* The page of memory that data are at, as far as 32 bits hold its number: above it a process has nothing else. */
static uint32_t find_page(const void *data) { return (uint32_t)((uintptr_t)data >> 12); }

static uint32_t find_first_page(const struct iovec *parts, int count) { return count > 0 ? find_page(parts->iov_base) : 0; }

/* A function on a `file`, of which is told what is named last. */
#define TRANSFER(type, function, parameters, arguments, as, ...)                  \
    REAL(type, function, parameters)                                              \
    EXPORT type function parameters {                                             \
        if (!is_storage(file))                                                    \
            return real_##function() arguments;                                   \
        TIME(type, real_##function() arguments);                                  \
        TELL_TIMED(as, .descriptor = file, .name = find_name(file), __VA_ARGS__); \
        set_stream_position(file, UNKNOWN);                                       \
        return result;                                                            \
    }

TRANSFER(ssize_t, read, (int file, void *to, size_t size), (file, to, size), read, .size = size, .extra = find_page(to))
TRANSFER(ssize_t, __read_chk, (int file, void *to, size_t size, size_t room), (file, to, size, room), read,
         .size = size, .extra = find_page(to))
TRANSFER(ssize_t, pread, (int file, void *to, size_t size, off_t at), (file, to, size, at), pread, .size = size, .offset = at,
         .extra = find_page(to))
ALIAS(ssize_t, pread64, (int file, void *to, size_t size, off_t at), pread);
TRANSFER(ssize_t, __pread_chk, (int file, void *to, size_t size, off_t at, size_t room), (file, to, size, at, room), pread,
         .size = size, .offset = at, .extra = find_page(to))
ALIAS(ssize_t, __pread64_chk, (int file, void *to, size_t size, off_t at, size_t room), __pread_chk);
TRANSFER(ssize_t, readv, (int file, const struct iovec *parts, int count), (file, parts, count), readv,
         .size = add_lengths(parts, count), .extra = find_first_page(parts, count))
TRANSFER(ssize_t, preadv, (int file, const struct iovec *parts, int count, off_t at), (file, parts, count, at), preadv,
         .size = add_lengths(parts, count), .offset = at, .extra = find_first_page(parts, count))
ALIAS(ssize_t, preadv64, (int file, const struct iovec *parts, int count, off_t at), preadv);
TRANSFER(ssize_t, preadv2, (int file, const struct iovec *parts, int count, off_t at, int flags),
         (file, parts, count, at, flags), preadv, .size = add_lengths(parts, count), .offset = at,
         .extra = flags ? (uint32_t)flags : find_first_page(parts, count))
ALIAS(ssize_t, preadv64v2, (int file, const struct iovec *parts, int count, off_t at, int flags), preadv2);

TRANSFER(ssize_t, write, (int file, const void *from, size_t size), (file, from, size), write, .size = size,
         .extra = find_page(from))
TRANSFER(ssize_t, pwrite, (int file, const void *from, size_t size, off_t at), (file, from, size, at), pwrite, .size = size,
         .offset = at, .extra = find_page(from))
ALIAS(ssize_t, pwrite64, (int file, const void *from, size_t size, off_t at), pwrite);
TRANSFER(ssize_t, writev, (int file, const struct iovec *parts, int count), (file, parts, count), writev,
         .size = add_lengths(parts, count), .extra = find_first_page(parts, count))
TRANSFER(ssize_t, pwritev, (int file, const struct iovec *parts, int count, off_t at), (file, parts, count, at), pwritev,
         .size = add_lengths(parts, count), .offset = at, .extra = find_first_page(parts, count))
ALIAS(ssize_t, pwritev64, (int file, const struct iovec *parts, int count, off_t at), pwritev);
TRANSFER(ssize_t, pwritev2, (int file, const struct iovec *parts, int count, off_t at, int flags),
         (file, parts, count, at, flags), pwritev, .size = add_lengths(parts, count), .offset = at,
         .extra = flags ? (uint32_t)flags : find_first_page(parts, count))
ALIAS(ssize_t, pwritev64v2, (int file, const struct iovec *parts, int count, off_t at, int flags), pwritev2);

TRANSFER(off_t, lseek, (int file, off_t at, int whence), (file, at, whence), lseek, .size = (uint64_t)at,
         .extra = (uint32_t)whence)
ALIAS(off_t, lseek64, (int file, off_t at, int whence), lseek);
TRANSFER(int, fsync, (int file), (file), fsync, .flags = 0)
TRANSFER(int, fdatasync, (int file), (file), fdatasync, .flags = 0)
TRANSFER(int, syncfs, (int file), (file), syncfs, .flags = 0)
TRANSFER(int, sync_file_range, (int file, off_t at, off_t size, unsigned flags), (file, at, size, flags), sync_file_range,
         .size = (uint64_t)size, .offset = at, .extra = flags)
TRANSFER(int, ftruncate, (int file, off_t size), (file, size), ftruncate, .size = (uint64_t)size)
ALIAS(int, ftruncate64, (int file, off_t size), ftruncate);
TRANSFER(int, fallocate, (int file, int mode, off_t at, off_t size), (file, mode, at, size), fallocate,
         .size = (uint64_t)size, .offset = at, .extra = (uint32_t)mode)
ALIAS(int, fallocate64, (int file, int mode, off_t at, off_t size), fallocate);
TRANSFER(int, flock, (int file, int operation), (file, operation), flock, .extra = (uint32_t)operation)
TRANSFER(int, fchmod, (int file, mode_t mode), (file, mode), chmod, .extra = mode)
TRANSFER(int, fchown, (int file, uid_t owner, gid_t group), (file, owner, group), chown, .size = owner, .extra = group)
TRANSFER(int, futimens, (int file, const struct timespec times[2]), (file, times), utime, .flags = 0)

REAL(void, sync, (void))
EXPORT void sync(void) {
    TIME(int, (real_sync()(), 0));
    TELL_TIMED(sync, .flags = 0);
}

/* These give the error as their result. */
#define GIVES_ERROR(function, parameters, arguments, as, ...)                                                \
    REAL(int, function, parameters)                                                                          \
    EXPORT int function parameters {                                                                         \
        if (!is_storage(file))                                                                               \
            return real_##function() arguments;                                                              \
        TIME(int, -real_##function() arguments);                                                             \
        TELL(.call = CALL_##as, .start = start, .duration = duration, .result = result, .offset = at,        \
             .size = (uint64_t)size, .descriptor = file, .name = find_name(file), __VA_ARGS__);              \
        errno = error;                                                                                       \
        return -result;                                                                                      \
    }
GIVES_ERROR(posix_fallocate, (int file, off_t at, off_t size), (file, at, size), fallocate, .flags = 0)
ALIAS(int, posix_fallocate64, (int file, off_t at, off_t size), posix_fallocate);
GIVES_ERROR(posix_fadvise, (int file, off_t at, off_t size, int advice), (file, at, size, advice), fadvise,
            .extra = (uint32_t)advice)
ALIAS(int, posix_fadvise64, (int file, off_t at, off_t size, int advice), posix_fadvise);

/* Two files: the name is that of the one written to, `extra` that of the one read. */
#define COPY(function, parameters, arguments)                                                             \
    REAL(ssize_t, function, parameters)                                                                   \
    EXPORT ssize_t function parameters {                                                                  \
        bool to_storage = is_storage(to), from_storage = is_storage(from);                                \
        if (!to_storage && !from_storage)                                                                 \
            return real_##function() arguments;                                                           \
        TIME(ssize_t, real_##function() arguments);                                                       \
        TELL_TIMED(function, .size = size, .descriptor = to, .name = find_name(to), .extra = find_name(from)); \
        return result;                                                                                    \
    }
COPY(copy_file_range, (int from, off_t *at, int to, off_t *to_at, size_t size, unsigned flags),
     (from, at, to, to_at, size, flags))
COPY(sendfile, (int to, int from, off_t *at, size_t size), (to, from, at, size))
ALIAS(ssize_t, sendfile64, (int to, int from, off_t *at, size_t size), sendfile);

REAL(void *, mmap, (void *, size_t, int, int, int, off_t))
EXPORT void *mmap(void *where, size_t size, int protection, int flags, int file, off_t at) {
    if (flags & MAP_ANONYMOUS || !is_storage(file))
        return real_mmap()(where, size, protection, flags, file, at);
    TIME(char *, real_mmap()(where, size, protection, flags, file, at));
    TELL(.call = CALL_mmap, .start = start, .duration = duration, .result = result == MAP_FAILED ? -error : 0, .offset = at,
         .size = size, .descriptor = file, .name = find_name(file),
         .extra = (uint32_t)(protection << 16 | (flags & 0xffff)));
    if ((flags & MAP_TYPE) != MAP_PRIVATE && protection & PROT_WRITE && result != MAP_FAILED)
        count(MAPPED, size);
    errno = error;
    return result;
}
ALIAS(void *, mmap64, (void *where, size_t size, int protection, int flags, int file, off_t at), mmap);

REAL(int, msync, (void *, size_t, int))
EXPORT int msync(void *where, size_t size, int flags) {
    TIME(int, real_msync()(where, size, flags));
    TELL_TIMED(msync, .size = size, .extra = (uint32_t)flags);
    return result;
}
