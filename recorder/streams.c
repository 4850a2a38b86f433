/* Streams of the C library. Its own calls for them cannot be seen from outside, so each function on a stream is
   followed by a look at where its file stands: that it has moved is what was read or written. Where the buffers
   show that nothing was, the kernel is not asked. What an unseen function moved is told with the next seen one. */
#include "descriptors.h"
#include "raw.h"
#include "real.h"
#include "segment.h"
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Macros, too. */
#undef fread_unlocked
#undef fwrite_unlocked
#undef getc_unlocked
#undef putc_unlocked

struct look {
    char *read, *read_end, *write, *write_base;
};

static bool is_on_storage(const FILE *stream) { return stream && is_storage(stream->_fileno); }

static int64_t ask_position(const FILE *stream) { return RAW3(lseek, stream->_fileno, 0, SEEK_CUR); }

/* What is appended begins at the end, wherever the file stands. */
static int64_t find_start(const FILE *stream) {
    struct stat is;
    bool appends = RAW3(fcntl, stream->_fileno, F_GETFL, 0) & O_APPEND;
    return appends && RAW2(fstat, stream->_fileno, &is) == 0 ? is.st_size : ask_position(stream);
}

static struct look look_at(const FILE *stream) {
    if (stream_position(stream->_fileno) == UNKNOWN)
        set_stream_position(stream->_fileno, find_start(stream));
    return (struct look){stream->_IO_read_ptr, stream->_IO_read_end, stream->_IO_write_ptr, stream->_IO_write_base};
}

static bool stayed_in_buffer(const FILE *stream, const struct look *before, int64_t moved) {
    bool same_read = before->read_end == stream->_IO_read_end, same_write = before->write_base == stream->_IO_write_base;
    int64_t read = stream->_IO_read_ptr - before->read, written = stream->_IO_write_ptr - before->write;
    return moved > 0 && same_read && same_write && (read == moved ? written == 0 : written == moved && read == 0);
}

static void tell_moved(const FILE *stream, enum call call, uint64_t start, uint64_t duration) {
    int64_t was = stream_position(stream->_fileno), is = ask_position(stream);
    if (was < 0 || is <= was) /* before the first write of one that appends, the file stands at its start */
        return;
    set_stream_position(stream->_fileno, is);
    TELL(.call = call, .flags = STREAM, .start = start, .duration = duration, .result = is - was, .offset = was,
         .size = (uint64_t)(is - was), .descriptor = stream->_fileno, .name = find_name(stream->_fileno));
}

/* `moved`: how many bytes went through the buffer, by the function's result. */
#define ON_STREAM(type, function, parameters, arguments, as, moved)        \
    REAL(type, function, parameters)                                       \
    EXPORT type function parameters {                                      \
        if (!is_on_storage(stream))                                        \
            return real_##function() arguments;                            \
        struct look before = look_at(stream);                              \
        TIME(type, real_##function() arguments);                           \
        if (!stayed_in_buffer(stream, &before, (int64_t)(moved)))          \
            tell_moved(stream, CALL_##as, start, duration);                \
        errno = error;                                                     \
        return result;                                                     \
    }

ON_STREAM(int, fflush_unlocked, (FILE *stream), (stream), write, 0)
ON_STREAM(size_t, fread, (void *to, size_t size, size_t count, FILE *stream), (to, size, count, stream), read, result *size)
ON_STREAM(size_t, fread_unlocked, (void *to, size_t size, size_t count, FILE *stream), (to, size, count, stream), read,
          result *size)
ON_STREAM(size_t, __fread_chk, (void *to, size_t room, size_t size, size_t count, FILE *stream),
          (to, room, size, count, stream), read, result *size)
ON_STREAM(size_t, __fread_unlocked_chk, (void *to, size_t room, size_t size, size_t count, FILE *stream),
          (to, room, size, count, stream), read, result *size)
ON_STREAM(char *, fgets, (char *to, int size, FILE *stream), (to, size, stream), read, result ? strlen(result) : 0)
ON_STREAM(char *, fgets_unlocked, (char *to, int size, FILE *stream), (to, size, stream), read, result ? strlen(result) : 0)
ON_STREAM(char *, __fgets_chk, (char *to, size_t room, int size, FILE *stream), (to, room, size, stream), read,
          result ? strlen(result) : 0)
ON_STREAM(char *, __fgets_unlocked_chk, (char *to, size_t room, int size, FILE *stream), (to, room, size, stream), read,
          result ? strlen(result) : 0)
ON_STREAM(ssize_t, getdelim, (char **to, size_t *room, int end, FILE *stream), (to, room, end, stream), read, result)
ON_STREAM(ssize_t, __getdelim, (char **to, size_t *room, int end, FILE *stream), (to, room, end, stream), read, result)
ON_STREAM(ssize_t, getline, (char **to, size_t *room, FILE *stream), (to, room, stream), read, result)
ON_STREAM(int, __isoc99_vfscanf, (FILE *stream, const char *format, va_list rest), (stream, format, rest), read, 0)
ON_STREAM(int, __isoc23_vfscanf, (FILE *stream, const char *format, va_list rest), (stream, format, rest), read, 0)
ON_STREAM(int, __uflow, (FILE *stream), (stream), read, 0)
ON_STREAM(int, __underflow, (FILE *stream), (stream), read, 0)
ON_STREAM(int, __overflow, (FILE *stream, int byte), (stream, byte), write, 0)
ON_STREAM(size_t, fwrite, (const void *from, size_t size, size_t count, FILE *stream), (from, size, count, stream), write,
          result *size)
ON_STREAM(size_t, fwrite_unlocked, (const void *from, size_t size, size_t count, FILE *stream), (from, size, count, stream),
          write, result *size)
ON_STREAM(int, fputs, (const char *text, FILE *stream), (text, stream), write, strlen(text))
ON_STREAM(int, fputs_unlocked, (const char *text, FILE *stream), (text, stream), write, strlen(text))
ON_STREAM(int, vfprintf, (FILE *stream, const char *format, va_list rest), (stream, format, rest), write, result)
ON_STREAM(int, __vfprintf_chk, (FILE *stream, int flag, const char *format, va_list rest), (stream, flag, format, rest),
          write, result)

/* One byte at a time: as long as it is in the buffer, the time is not taken either. */
#define BYTEWISE(function, parameters, arguments, as, is_in_buffer) \
    REAL(int, function, parameters)                                 \
    EXPORT int function parameters {                                \
        if ((is_in_buffer) || !is_on_storage(stream))               \
            return real_##function() arguments;                     \
        look_at(stream);                                            \
        TIME(int, real_##function() arguments);                     \
        tell_moved(stream, CALL_##as, start, duration);             \
        errno = error;                                              \
        return result;                                              \
    }
#define HAS_BYTE (stream->_IO_read_ptr < stream->_IO_read_end)
#define HAS_ROOM (stream->_IO_write_ptr < stream->_IO_write_end && byte != '\n')
BYTEWISE(fgetc, (FILE *stream), (stream), read, HAS_BYTE)
BYTEWISE(getc, (FILE *stream), (stream), read, HAS_BYTE)
BYTEWISE(_IO_getc, (FILE *stream), (stream), read, HAS_BYTE)
BYTEWISE(fgetc_unlocked, (FILE *stream), (stream), read, HAS_BYTE)
BYTEWISE(fputc, (int byte, FILE *stream), (byte, stream), write, HAS_ROOM)
BYTEWISE(putc, (int byte, FILE *stream), (byte, stream), write, HAS_ROOM)
BYTEWISE(_IO_putc, (int byte, FILE *stream), (byte, stream), write, HAS_ROOM)
BYTEWISE(fputc_unlocked, (int byte, FILE *stream), (byte, stream), write, HAS_ROOM)
BYTEWISE(getc_unlocked, (FILE *stream), (stream), read, HAS_BYTE)
BYTEWISE(putc_unlocked, (int byte, FILE *stream), (byte, stream), write, HAS_ROOM)

/* Those of the standard streams, and those with any number of arguments, by the ones above. */
EXPORT int puts(const char *text) {
    flockfile(stdout); /* a line is whole, whatever other threads write */
    int result = fputs(text, stdout) == EOF || fputc('\n', stdout) == EOF ? EOF : 1;
    funlockfile(stdout);
    return result;
}
EXPORT int putchar(int byte) { return fputc(byte, stdout); }
EXPORT int getchar(void) { return fgetc(stdin); }
EXPORT int vprintf(const char *format, va_list rest) { return vfprintf(stdout, format, rest); }
EXPORT int __vprintf_chk(int flag, const char *format, va_list rest) { return __vfprintf_chk(stdout, flag, format, rest); }

#define VARIADIC(function, parameters, last, call)  \
    EXPORT int function parameters {                \
        va_list rest;                               \
        va_start(rest, last);                       \
        int result = call;                          \
        va_end(rest);                               \
        return result;                              \
    }
VARIADIC(fprintf, (FILE *stream, const char *format, ...), format, vfprintf(stream, format, rest))
VARIADIC(printf, (const char *format, ...), format, vfprintf(stdout, format, rest))
VARIADIC(__fprintf_chk, (FILE *stream, int flag, const char *format, ...), format, __vfprintf_chk(stream, flag, format, rest))
VARIADIC(__printf_chk, (int flag, const char *format, ...), format, __vfprintf_chk(stdout, flag, format, rest))
VARIADIC(__isoc99_fscanf, (FILE *stream, const char *format, ...), format, __isoc99_vfscanf(stream, format, rest))
VARIADIC(__isoc23_fscanf, (FILE *stream, const char *format, ...), format, __isoc23_vfscanf(stream, format, rest))
VARIADIC(__isoc99_scanf, (const char *format, ...), format, __isoc99_vfscanf(stdin, format, rest))
VARIADIC(__isoc23_scanf, (const char *format, ...), format, __isoc23_vfscanf(stdin, format, rest))

static void flush_all(void) {
    FILE **first = dlsym(RTLD_DEFAULT, "_IO_list_all");
    for (FILE *stream = first ? *first : NULL; stream; stream = stream->_chain)
        if (stream->_fileno >= 0 && stream->_IO_write_ptr > stream->_IO_write_base && is_known_storage(stream->_fileno))
            fflush(stream);
}

REAL(int, fflush, (FILE *))
EXPORT int fflush(FILE *stream) {
    if (!stream)
        flush_all();
    if (!is_on_storage(stream))
        return real_fflush()(stream);
    look_at(stream);
    TIME(int, real_fflush()(stream));
    tell_moved(stream, CALL_write, start, duration);
    errno = error;
    return result;
}

static int read_mode(const char *mode) {
    int plus = strchr(mode, '+') ? O_RDWR : 0;
    int flags = *mode == 'r' ? 0 : O_CREAT | (*mode == 'a' ? O_APPEND : O_TRUNC);
    return flags | (plus ? plus : *mode == 'r' ? O_RDONLY : O_WRONLY) | (strchr(mode, 'x') ? O_EXCL : 0);
}

#define OPENS(function, parameters, arguments, path, flags)                                        \
    REAL(FILE *, function, parameters)                                                             \
    EXPORT FILE *function parameters {                                                             \
        TIME(FILE *, real_##function() arguments);                                                 \
        errno = error;                                                                             \
        tell_open(result ? result->_fileno : -1, AT_FDCWD, path, flags, start, duration);          \
        errno = error;                                                                             \
        return result;                                                                             \
    }
OPENS(fopen, (const char *path, const char *mode), (path, mode), path, read_mode(mode))
OPENS(fopen64, (const char *path, const char *mode), (path, mode), path, read_mode(mode))
OPENS(tmpfile, (void), (), NULL, O_RDWR | O_CREAT | O_EXCL)
OPENS(tmpfile64, (void), (), NULL, O_RDWR | O_CREAT | O_EXCL)

static void flush_written(FILE *stream) {
    if (stream && stream->_IO_write_ptr > stream->_IO_write_base)
        fflush(stream);
}

#define REOPENS(function)                                                                          \
    REAL(FILE *, function, (const char *, const char *, FILE *))                                   \
    EXPORT FILE *function(const char *path, const char *mode, FILE *stream) {                      \
        flush_written(stream);                                                                     \
        forget_descriptor(stream->_fileno);                                                        \
        TIME(FILE *, real_##function()(path, mode, stream));                                       \
        errno = error;                                                                             \
        tell_open(result ? result->_fileno : -1, AT_FDCWD, path, read_mode(mode), start, duration); \
        errno = error;                                                                             \
        return result;                                                                             \
    }
REOPENS(freopen)
REOPENS(freopen64)

REAL(int, fclose, (FILE *))
EXPORT int fclose(FILE *stream) {
    int file = stream->_fileno;
    if (!is_known_storage(file))
        return real_fclose()(stream);
    uint32_t name = find_name(file);
    flush_written(stream);
    forget_descriptor(file);
    TIME(int, real_fclose()(stream));
    TELL_TIMED(close, .flags = STREAM, .descriptor = file, .name = name);
    return result;
}

/* A seek fills the buffer of a stream that is read, from the start of a page. */
static void tell_seek(const FILE *stream, int result, uint64_t start, uint64_t duration) {
    int64_t is = ask_position(stream), in_buffer = stream->_IO_read_end - stream->_IO_read_base;
    bool has_read = result == 0 && in_buffer > 0 && is != stream_position(stream->_fileno);
    int64_t to = has_read ? is - in_buffer : is;
    if (is == stream_position(stream->_fileno))
        return;
    set_stream_position(stream->_fileno, is);
    TELL(.call = CALL_lseek, .flags = STREAM, .start = start, .duration = has_read ? 0 : duration, .result = to,
         .size = (uint64_t)to, .descriptor = stream->_fileno, .name = find_name(stream->_fileno));
    if (has_read)
        TELL(.call = CALL_read, .flags = STREAM, .start = start, .duration = duration, .result = in_buffer, .offset = to,
             .size = (uint64_t)in_buffer, .descriptor = stream->_fileno, .name = find_name(stream->_fileno));
}

#define SEEKS(function, parameters, arguments)           \
    REAL(int, function, parameters)                      \
    EXPORT int function parameters {                     \
        if (!is_on_storage(stream))                      \
            return real_##function() arguments;          \
        flush_written(stream);                           \
        look_at(stream);                                 \
        TIME(int, real_##function() arguments);          \
        tell_seek(stream, result, start, duration);      \
        errno = error;                                   \
        return result;                                   \
    }
SEEKS(fseek, (FILE *stream, long at, int whence), (stream, at, whence))
SEEKS(fseeko, (FILE *stream, off_t at, int whence), (stream, at, whence))
SEEKS(fseeko64, (FILE *stream, off64_t at, int whence), (stream, at, whence))
SEEKS(fsetpos, (FILE *stream, const fpos_t *at), (stream, at))
SEEKS(fsetpos64, (FILE *stream, const fpos64_t *at), (stream, at))
EXPORT void rewind(FILE *stream) {
    fseek(stream, 0, SEEK_SET);
    clearerr(stream);
}

/* exit() writes what streams hold only when nothing can be told any more. */
__attribute__((destructor)) static void end(void) { flush_all(); }
