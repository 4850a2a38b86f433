/* `pread FILE CALLS`: read 4 KiB so often from a file in the cache; prints the seconds of a call. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static char bytes[4096];
    struct timespec begun, ended;
    int file = argc > 2 ? open(argv[1], O_RDONLY) : -1;
    long calls = argc > 2 ? atol(argv[2]) : 0;

    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (long call = 0; call < calls; call++)
        if (pread(file, bytes, sizeof bytes, call % 256 * 4096) != sizeof bytes)
            return 1;
    clock_gettime(CLOCK_MONOTONIC, &ended);
    printf("%.3e\n", ((ended.tv_sec - begun.tv_sec) + (ended.tv_nsec - begun.tv_nsec) / 1e9) / calls);
    return 0;
}
