/* The least that a message between two processors can take: one line of the cache, sent there and back.
 *
 *     cc -O2 -pthread -o cache-line benches/cache-line.c && ./cache-line CPU OTHER_CPU SECONDS
 *
 * One thread writes a number into the line, the other one waits for it by looking and writes the next one. Prints
 * `one_way_ns NANOSECONDS`, with a tab between them: half of the median way there and back, over batches of BATCH ways between
 * two readings of the clock. It is a yardstick for benches/against-chronicle, not a benchmark of its own.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCH = 1000, BATCHES_MAX = 1 << 20 };
static const uint64_t OVER = UINT64_MAX;

static struct {
    _Alignas(128) _Atomic uint64_t number;
    char rest[120];
} line;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void run_on(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        fprintf(stderr, "cache-line: no processor %d to run on\n", cpu);
        exit(2);
    }
}

/* Even numbers go there, odd ones come back. */
static void *answer(void *cpu)
{
    run_on(*(int *)cpu);
    for (uint64_t seen = 0;;) {
        uint64_t number = atomic_load_explicit(&line.number, memory_order_acquire);
        if (number == OVER)
            return NULL;
        if (number != seen && number % 2 == 0) {
            seen = number;
            atomic_store_explicit(&line.number, number + 1, memory_order_release);
        }
    }
}

static int ascending(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

int main(int argc, char **argv)
{
    if (argc != 4 || atof(argv[3]) <= 0) {
        fprintf(stderr, "usage: cache-line CPU OTHER_CPU SECONDS\n");
        return 2;
    }
    int cpu = atoi(argv[1]), other = atoi(argv[2]);
    double *one_way_ns = malloc(BATCHES_MAX * sizeof *one_way_ns);
    pthread_t thread;
    if (!one_way_ns || pthread_create(&thread, NULL, answer, &other) != 0) {
        fprintf(stderr, "cache-line: no memory, or no thread\n");
        return 1;
    }
    run_on(cpu);
    uint64_t number = 0, stop = now_ns() + (uint64_t)(atof(argv[3]) * 1e9);
    size_t batches = 0;
    for (uint64_t start = now_ns(); start < stop && batches < BATCHES_MAX; start = now_ns()) {
        for (int way = 0; way < BATCH; way++) {
            number += 2;
            atomic_store_explicit(&line.number, number, memory_order_release);
            while (atomic_load_explicit(&line.number, memory_order_acquire) != number + 1)
                ;
        }
        one_way_ns[batches++] = (double)(now_ns() - start) / (2.0 * BATCH);
    }
    atomic_store(&line.number, OVER);
    pthread_join(thread, NULL);
    qsort(one_way_ns, batches, sizeof *one_way_ns, ascending);
    printf("one_way_ns\t%.1f\n", one_way_ns[batches / 2]);
    return 0;
}
