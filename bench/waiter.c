/* `waiter AT`: sleep until AT (ns of the wall clock), then become `waiter`, which prints when it began.
 *
 * This is the least that a start at an instant takes: one sleep, one exec. The program notes its own start, so
 * that a start by Steelyard is measured in the same way. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct timespec now, while_others_begin = {0, 100000000};

    clock_gettime(CLOCK_REALTIME, &now);
    if (argc > 1) {
        long long at = atoll(argv[1]);
        struct timespec instant = {at / 1000000000, at % 1000000000};

        while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &instant, NULL))
            ;
        execl(argv[0], argv[0], (char *)NULL);
        return 1;
    }
    printf("%lld%09ld\n", (long long)now.tv_sec, now.tv_nsec);
    nanosleep(&while_others_begin, NULL);
    return 0;
}
