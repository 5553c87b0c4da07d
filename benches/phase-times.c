/* When bonnie++ begins and ends each phase, to the nanosecond: it asks getrusage(2) at both, and this
 * library, put before the C library by LD_PRELOAD, writes down the time of each call. bonnie++ itself
 * prints no figure for a phase under half a second. Nothing else that it calls passes here.
 *
 *     cc -O2 -shared -fPIC -o phase-times.so phase-times.c
 *     PHASE_TIMES=out LD_PRELOAD=./phase-times.so bonnie++ ...
 *
 * `out` gets one line for each call: seconds on CLOCK_MONOTONIC, and `main` or `other` thread.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { CALLS_MAX = 4096 };
static struct { struct timespec at; int is_main; } calls[CALLS_MAX];
static atomic_int call_count;
static int (*real)(int, struct rusage *);

__attribute__((constructor)) static void begin(void) {
    real = (int (*)(int, struct rusage *))dlsym(RTLD_NEXT, "getrusage");
}

/* The type of the first argument is an enum under C++ headers and an int to the linker. */
int getrusage(__rusage_who_t who, struct rusage *usage) {
    int place = atomic_fetch_add(&call_count, 1);
    if (place < CALLS_MAX) {
        clock_gettime(CLOCK_MONOTONIC, &calls[place].at);
        calls[place].is_main = gettid() == getpid();
    }
    return real((int)who, usage);
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("PHASE_TIMES");
    FILE *out = path ? fopen(path, "w") : NULL;
    if (!out) return;
    for (int i = 0; i < call_count && i < CALLS_MAX; i++)
        fprintf(out, "%lld.%09ld %s\n", (long long)calls[i].at.tv_sec, calls[i].at.tv_nsec,
                calls[i].is_main ? "main" : "other");
    fclose(out);
}
