/* POSIX: the arrays of all parts, one after the other, at places that follow from their numbers. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "dump.h"

static void write_all(const Dump *dump, int file, const char *path, size_t bytes, off_t at) {
    const char *from = (const char *)dump->memory;
    while (bytes) {
        ssize_t wrote = pwrite(file, from, bytes, at);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            fail(dump->job, "cannot write %s: %s", path, strerror(wrote ? errno : EIO));
        from += wrote;
        at += wrote;
        bytes -= (size_t)wrote;
    }
}

static off_t part_bytes(const Dump *dump) {
    size_t values = 0;
    for (size_t array = 0; array < dump->arrays; array++)
        values += dump->values[array];
    return (off_t)(values * sizeof(double));
}

static void write_parts(const Dump *dump, int file, const char *path) {
    off_t at = part_bytes(dump) * (off_t)dump->first;
    for (size_t part = 0; part < dump->parts; part++)
        for (size_t array = 0; array < dump->arrays; array++) {
            size_t bytes = dump->values[array] * sizeof(double);
            fill_array(dump, part, array);
            write_all(dump, file, path, bytes, at);
            at += (off_t)bytes;
        }
}

void write_posix(const Dump *dump, const char *path) {
    if (!dump->shared)
        take_turn(dump);
    int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0)
        fail(dump->job, "cannot create %s: %s", path, strerror(errno));
    write_parts(dump, file, path);
    if (dump->sync && fsync(file))
        fail(dump->job, "cannot flush %s: %s", path, strerror(errno));
    if (close(file))
        fail(dump->job, "cannot close %s: %s", path, strerror(errno));
    if (!dump->shared)
        pass_turn(dump);
}
