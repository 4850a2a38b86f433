/* Calls that open, close and copy descriptors, and those about a path. */
#include "descriptors.h"
#include "real.h"
#include "segment.h"
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

static bool is_left_alone(const char *path) {
    static const char *const systems[] = {"/proc/", "/sys/", "/dev/"};
    for (size_t i = 0; path && i < sizeof systems / sizeof *systems; i++)
        if (strncmp(path, systems[i], strlen(systems[i])) == 0)
            return true;
    return !path || !is_recording();
}

void tell_open(int result, int directory, const char *path, int flags, uint64_t start, uint64_t duration) {
    int error = errno;
    if (result >= 0)
        add_opened(result, directory, path, flags, start, duration);
    else if (!is_left_alone(path))
        TELL(.call = CALL_open, .start = start, .duration = duration, .result = -error, .name = name_path(directory, path),
             .extra = (uint32_t)flags);
    errno = error;
}

REAL(int, openat, (int, const char *, int, mode_t))
static int open_at(int directory, const char *path, int flags, mode_t mode) {
    TIME(int, real_openat()(directory, path, flags, mode));
    errno = error;
    tell_open(result, directory, path, flags, start, duration);
    return result;
}

#define MODE_AFTER(flags)                                        \
    mode_t mode = 0;                                             \
    if ((flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE) { \
        va_list rest;                                            \
        va_start(rest, flags);                                   \
        mode = va_arg(rest, mode_t);                             \
        va_end(rest);                                            \
    }
EXPORT int open(const char *path, int flags, ...) {
    MODE_AFTER(flags)
    return open_at(AT_FDCWD, path, flags, mode);
}
ALIAS(int, open64, (const char *path, int flags, ...), open);
EXPORT int openat(int directory, const char *path, int flags, ...) {
    MODE_AFTER(flags)
    return open_at(directory, path, flags, mode);
}
ALIAS(int, openat64, (int directory, const char *path, int flags, ...), openat);
EXPORT int __open_2(const char *path, int flags) { return open_at(AT_FDCWD, path, flags, 0); }
ALIAS(int, __open64_2, (const char *path, int flags), __open_2);
EXPORT int __openat_2(int directory, const char *path, int flags) { return open_at(directory, path, flags, 0); }
ALIAS(int, __openat64_2, (int directory, const char *path, int flags), __openat_2);
EXPORT int creat(const char *path, mode_t mode) { return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
ALIAS(int, creat64, (const char *path, mode_t mode), creat);

/* Files that the C library names: the template is the name afterwards. */
#define MAKES_FILE(function, parameters, arguments)                                        \
    REAL(int, function, parameters)                                                        \
    EXPORT int function parameters {                                                       \
        TIME(int, real_##function() arguments);                                            \
        errno = error;                                                                     \
        tell_open(result, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL, start, duration);     \
        return result;                                                                     \
    }
MAKES_FILE(mkstemp, (char *path), (path))
ALIAS(int, mkstemp64, (char *path), mkstemp);
MAKES_FILE(mkostemp, (char *path, int flags), (path, flags))
ALIAS(int, mkostemp64, (char *path, int flags), mkostemp);
MAKES_FILE(mkstemps, (char *path, int end), (path, end))
ALIAS(int, mkstemps64, (char *path, int end), mkstemps);
MAKES_FILE(mkostemps, (char *path, int end, int flags), (path, end, flags))
ALIAS(int, mkostemps64, (char *path, int end, int flags), mkostemps);

REAL(int, close, (int))
EXPORT int close(int file) {
    bool is_told = is_known_storage(file);
    uint32_t name = find_name(file);
    forget_descriptor(file); /* before another thread is given its number */
    if (!is_told)
        return real_close()(file);
    TIME(int, real_close()(file));
    TELL_TIMED(close, .descriptor = file, .name = name);
    return result;
}

REAL(int, close_range, (unsigned, unsigned, int))
EXPORT int close_range(unsigned first, unsigned last, int flags) {
    if (!flags)
        forget_descriptors_from(first, last);
    return real_close_range()(first, last, flags);
}

REAL(void, closefrom, (int))
EXPORT void closefrom(int first) {
    forget_descriptors_from(first < 0 ? 0 : (unsigned)first, ~0u);
    real_closefrom()(first);
}

#define COPIES(function, parameters, arguments)           \
    REAL(int, function, parameters)                       \
    EXPORT int function parameters {                      \
        TIME(int, real_##function() arguments);           \
        copy_descriptor(from, result, start, duration);   \
        errno = error;                                    \
        return result;                                    \
    }
COPIES(dup, (int from), (from))
COPIES(dup2, (int from, int to), (from, to))
COPIES(dup3, (int from, int to, int flags), (from, to, flags))

REAL(int, fcntl, (int, int, ...))
EXPORT int fcntl(int file, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    TIME(int, real_fcntl()(file, command, argument));
    bool locks = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
        copy_descriptor(file, result, start, duration);
    else if (locks && is_storage(file))
        TELL_TIMED(flock, .descriptor = file, .name = find_name(file), .extra = (uint32_t)command);
    errno = error;
    return result;
}
ALIAS(int, fcntl64, (int file, int command, ...), fcntl);

REAL(int, chdir, (const char *))
EXPORT int chdir(const char *path) {
    int result = real_chdir()(path);
    forget_directory();
    return result;
}
REAL(int, fchdir, (int))
EXPORT int fchdir(int file) {
    int result = real_fchdir()(file);
    forget_directory();
    return result;
}

/* Functions of a `path`, which may lie below a directory; what is told besides comes last. */
#define BY_PATH_AS(type, function, parameters, arguments, as, directory, ...)          \
    REAL(type, function, parameters)                                                   \
    EXPORT type function parameters {                                                  \
        if (is_left_alone(path))                                                       \
            return real_##function() arguments;                                        \
        TIME(type, real_##function() arguments);                                       \
        TELL_TIMED(as, .name = name_path(directory, path), __VA_ARGS__);               \
        return result;                                                                 \
    }
#define BY_PATH(function, ...) BY_PATH_AS(int, function, __VA_ARGS__)

BY_PATH(stat, (const char *path, struct stat *is), (path, is), stat, AT_FDCWD, .flags = 0)
BY_PATH(stat64, (const char *path, struct stat64 *is), (path, is), stat, AT_FDCWD, .flags = 0)
BY_PATH(lstat, (const char *path, struct stat *is), (path, is), stat, AT_FDCWD, .flags = 0)
BY_PATH(lstat64, (const char *path, struct stat64 *is), (path, is), stat, AT_FDCWD, .flags = 0)
BY_PATH(fstatat, (int at, const char *path, struct stat *is, int flags), (at, path, is, flags), stat, at, .flags = 0)
BY_PATH(fstatat64, (int at, const char *path, struct stat64 *is, int flags), (at, path, is, flags), stat, at, .flags = 0)
BY_PATH(statx, (int at, const char *path, int flags, unsigned mask, struct statx *is), (at, path, flags, mask, is), stat, at, .flags = 0)
BY_PATH(__xstat, (int version, const char *path, struct stat *is), (version, path, is), stat, AT_FDCWD, .flags = 0)
BY_PATH(__xstat64, (int version, const char *path, struct stat64 *is), (version, path, is), stat, AT_FDCWD, .flags = 0)
BY_PATH(__lxstat, (int version, const char *path, struct stat *is), (version, path, is), stat, AT_FDCWD, .flags = 0)
BY_PATH(__lxstat64, (int version, const char *path, struct stat64 *is), (version, path, is), stat, AT_FDCWD, .flags = 0)
BY_PATH(__fxstatat, (int version, int at, const char *path, struct stat *is, int flags), (version, at, path, is, flags),
        stat, at, .flags = 0)
BY_PATH(__fxstatat64, (int version, int at, const char *path, struct stat64 *is, int flags), (version, at, path, is, flags),
        stat, at, .flags = 0)
BY_PATH(statfs, (const char *path, struct statfs *is), (path, is), statfs, AT_FDCWD, .flags = 0)
BY_PATH(statfs64, (const char *path, struct statfs64 *is), (path, is), statfs, AT_FDCWD, .flags = 0)
BY_PATH(statvfs, (const char *path, struct statvfs *is), (path, is), statfs, AT_FDCWD, .flags = 0)
BY_PATH(statvfs64, (const char *path, struct statvfs64 *is), (path, is), statfs, AT_FDCWD, .flags = 0)
BY_PATH(access, (const char *path, int mode), (path, mode), access, AT_FDCWD, .flags = 0)
BY_PATH(faccessat, (int at, const char *path, int mode, int flags), (at, path, mode, flags), access, at, .flags = 0)
BY_PATH(mkdir, (const char *path, mode_t mode), (path, mode), mkdir, AT_FDCWD, .flags = 0)
BY_PATH(mkdirat, (int at, const char *path, mode_t mode), (at, path, mode), mkdir, at, .flags = 0)
BY_PATH(rmdir, (const char *path), (path), rmdir, AT_FDCWD, .flags = 0)
BY_PATH(unlink, (const char *path), (path), unlink, AT_FDCWD, .flags = 0)
BY_PATH(remove, (const char *path), (path), unlink, AT_FDCWD, .flags = 0)
BY_PATH(truncate, (const char *path, off_t size), (path, size), truncate, AT_FDCWD, .size = (uint64_t)size)
BY_PATH(chmod, (const char *path, mode_t mode), (path, mode), chmod, AT_FDCWD, .flags = 0)
BY_PATH(fchmodat, (int at, const char *path, mode_t mode, int flags), (at, path, mode, flags), chmod, at, .flags = 0)
BY_PATH(chown, (const char *path, uid_t owner, gid_t group), (path, owner, group), chown, AT_FDCWD, .flags = 0)
BY_PATH(lchown, (const char *path, uid_t owner, gid_t group), (path, owner, group), chown, AT_FDCWD, .flags = 0)
BY_PATH(fchownat, (int at, const char *path, uid_t owner, gid_t group, int flags), (at, path, owner, group, flags), chown, at, .flags = 0)
BY_PATH(utimensat, (int at, const char *path, const struct timespec times[2], int flags), (at, path, times, flags), utime, at, .flags = 0)
BY_PATH(unlinkat, (int at, const char *path, int flags), (at, path, flags), unlink, at,
         .size = (uint64_t)flags)
BY_PATH(rename, (const char *path, const char *to), (path, to), rename, AT_FDCWD, .extra = name_path(AT_FDCWD, to))
BY_PATH(renameat, (int at, const char *path, int to_at, const char *to), (at, path, to_at, to), rename,
         at, .extra = name_path(to_at, to))
BY_PATH(renameat2, (int at, const char *path, int to_at, const char *to, unsigned flags), (at, path, to_at, to, flags),
         rename, at, .extra = name_path(to_at, to))
BY_PATH(link, (const char *path, const char *to), (path, to), link, AT_FDCWD, .extra = name_path(AT_FDCWD, to))
BY_PATH(linkat, (int at, const char *path, int to_at, const char *to, int flags), (at, path, to_at, to, flags), link,
         at, .extra = name_path(to_at, to))
static int64_t measure(const char *text) { return text ? (int64_t)strnlen(text, PATH_MAX) : 0; }

BY_PATH(symlink, (const char *target, const char *path), (target, path), symlink, AT_FDCWD,
        .extra = name_target(AT_FDCWD, path, target, measure(target)))
BY_PATH(symlinkat, (const char *target, int at, const char *path), (target, at, path), symlink, at,
        .extra = name_target(at, path, target, measure(target)))

BY_PATH_AS(ssize_t, readlink, (const char *path, char *to, size_t size), (path, to, size), readlink, AT_FDCWD,
           .extra = name_target(AT_FDCWD, path, to, result))
BY_PATH_AS(ssize_t, readlinkat, (int at, const char *path, char *to, size_t size), (at, path, to, size), readlink, at,
           .extra = name_target(at, path, to, result))
BY_PATH_AS(ssize_t, __readlink_chk, (const char *path, char *to, size_t size, size_t room), (path, to, size, room), readlink,
           AT_FDCWD, .extra = name_target(AT_FDCWD, path, to, result))
BY_PATH_AS(ssize_t, __readlinkat_chk, (int at, const char *path, char *to, size_t size, size_t room), (at, path, to, size, room),
           readlink, at, .extra = name_target(at, path, to, result))

#define BY_DESCRIPTOR(function, parameters, arguments)                      \
    REAL(int, function, parameters)                                         \
    EXPORT int function parameters {                                        \
        if (!is_storage(file))                                              \
            return real_##function() arguments;                             \
        TIME(int, real_##function() arguments);                             \
        TELL_TIMED(fstat, .descriptor = file, .name = find_name(file));     \
        return result;                                                      \
    }
BY_DESCRIPTOR(fstat, (int file, struct stat *is), (file, is))
BY_DESCRIPTOR(fstat64, (int file, struct stat64 *is), (file, is))
BY_DESCRIPTOR(__fxstat, (int version, int file, struct stat *is), (version, file, is))
BY_DESCRIPTOR(__fxstat64, (int version, int file, struct stat64 *is), (version, file, is))

REAL(DIR *, opendir, (const char *))
EXPORT DIR *opendir(const char *path) {
    if (is_left_alone(path))
        return real_opendir()(path);
    TIME(DIR *, real_opendir()(path));
    TELL(.call = CALL_opendir, .start = start, .duration = duration, .result = result ? dirfd(result) : -error,
         .name = name_path(AT_FDCWD, path));
    errno = error;
    return result;
}
REAL(int, closedir, (DIR *))
EXPORT int closedir(DIR *directory) {
    if (directory)
        forget_descriptor(dirfd(directory));
    return real_closedir()(directory);
}
