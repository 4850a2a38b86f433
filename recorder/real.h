/* The functions that the program would have called without us. */
#ifndef REAL_H
#define REAL_H

#include <dlfcn.h>
#include <errno.h>

/* By its old version, so that the library loads on systems with an old C library. */
#if defined __x86_64__
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
#else
__asm__(".symver dlsym, dlsym@GLIBC_2.17");
#endif

/* In place of a function that this C library does not have: a program may have asked whether it does, found ours,
   and goes another way when it fails. */
static long fail_as_missing(void) {
    errno = ENOSYS;
    return -1;
}

/* `REAL(ssize_t, read, (int, void *, size_t))` declares `real_read()`, which finds the function once. */
#define REAL(type, name, parameters)                             \
    static type(*real_##name(void)) parameters {                 \
        static type(*found) parameters;                          \
        if (!found)                                              \
            *(void **)&found = dlsym(RTLD_NEXT, #name);          \
        if (!found)                                              \
            found = (type(*) parameters)(void *)fail_as_missing; \
        return found;                                            \
    }

#define EXPORT __attribute__((visibility("default")))
/* The same function by another name, such as that for large files. */
#define ALIAS(type, name, parameters, of) EXPORT type name parameters __attribute__((alias(#of)))

#endif
