/* System calls of the library's own: through the C library they would come back to it. */
#ifndef RAW_H
#define RAW_H

#include <sys/syscall.h>

static inline long raw(long number, long a, long b, long c, long d, long e, long f) {
#if defined __x86_64__
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined __aarch64__
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
                  x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
#error "x86_64 and aarch64 only"
#endif
}

#define RAW1(name, a) raw(SYS_##name, (long)(a), 0, 0, 0, 0, 0)
#define RAW2(name, a, b) raw(SYS_##name, (long)(a), (long)(b), 0, 0, 0, 0)
#define RAW3(name, a, b, c) raw(SYS_##name, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define RAW4(name, a, b, c, d) raw(SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define RAW6(name, a, b, c, d, e, f) \
    raw(SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
