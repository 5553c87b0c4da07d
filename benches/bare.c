/* The least that measuring an append can cost: a write between two readings of the clock, in a loop.
 *
 *     cc -O2 -o bare benches/bare.c && ./bare FILE SECONDS [RECORD_BYTES]
 *
 * With -DIN_LOOP the system call stands in the loop (x86-64) instead of in a function of the C library. With -DSEEK_WRITE
 * it is lseek and write. With -DCONTENT each record has other bytes, copied twice as in the journal of pickfs: out of a
 * pattern, and into what is written.
 *
 * Appends to a new file for so many seconds and prints `rate_per_s p50_ns operations`. The operations go to an
 * array that was touched before. It is a yardstick for benches/against-fio, not a benchmark of its own.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LAPS_MAX = 1 << 26, RECORD_BYTES_MAX = 1 << 20 };

#ifdef IN_LOOP
static inline __attribute__((always_inline)) ssize_t call(long number, int file, size_t second, size_t third, off_t fourth)
{
    register off_t at __asm__("r10") = fourth;
    ssize_t done;
    __asm__ volatile("syscall"
                     : "=a"(done)
                     : "a"(number), "D"(file), "S"(second), "d"(third), "r"(at)
                     : "rcx", "r11", "memory");
    return done;
}
#define write(file, bytes, count) call(1, file, (size_t)(bytes), count, 0)
#define lseek(file, offset, whence) call(8, file, (size_t)(offset), whence, 0)
#define pwrite(file, bytes, count, offset) call(18, file, (size_t)(bytes), count, offset)
#endif

#ifdef SEEK_WRITE
#define append(file, bytes, count, offset) (lseek(file, offset, SEEK_SET) < 0 ? -1 : write(file, bytes, count))
#else
#define append(file, bytes, count, offset) pwrite(file, bytes, count, offset)
#endif

#ifdef CONTENT
enum { PLACES = 1 << 16 };
static char pattern[PLACES + RECORD_BYTES_MAX], payload[RECORD_BYTES_MAX];

static void fill(char *record, size_t bytes, uint64_t number)
{
    uint64_t z = number * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    memcpy(payload, pattern + (z ^ (z >> 31)) % PLACES, bytes);
    __asm__ volatile("" : : "r"(payload) : "memory");
    memcpy(record, payload, bytes);
}
#else
#define fill(record, bytes, number) ((void)0)
#endif

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static int fail(const char *what, const char *name)
{
    fprintf(stderr, "bare: %s %s: %s\n", what, name, strerror(errno));
    return 1;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: bare FILE SECONDS [RECORD_BYTES]\n");
        return 2;
    }
    double seconds = atof(argv[2]);
    size_t record_bytes = argc > 3 ? (size_t)atol(argv[3]) : 256;
    if (seconds <= 0 || record_bytes == 0 || record_bytes > RECORD_BYTES_MAX) {
        fprintf(stderr, "bare: SECONDS above 0, RECORD_BYTES in [1, %d]\n", RECORD_BYTES_MAX);
        return 2;
    }
    size_t room = (size_t)(seconds * 8e6) < LAPS_MAX ? (size_t)(seconds * 8e6) + 1 : LAPS_MAX;
    uint32_t *operations_ns = malloc(room * sizeof *operations_ns);
    char *record = malloc(record_bytes);
    if (!operations_ns || !record)
        return fail("no memory for", "operations");
    memset(operations_ns, 1, room * sizeof *operations_ns);
    memset(record, 'r', record_bytes);
#ifdef CONTENT
    memset(pattern, 'p', sizeof pattern);
#endif
    int file = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0)
        return fail("open", argv[1]);

    size_t operations = 0;
    off_t offset = 0;
    uint64_t began = now_ns(), end = began, stop = began + (uint64_t)(seconds * 1e9);
    while (end < stop && operations < room) {
        fill(record, record_bytes, operations);
        uint64_t start = now_ns();
        if (append(file, record, record_bytes, offset) != (ssize_t)record_bytes)
            return fail("append to", argv[1]);
        end = now_ns();
        operations_ns[operations++] = (uint32_t)(end - start);
        offset += (off_t)record_bytes;
    }

    qsort(operations_ns, operations, sizeof *operations_ns, ascending);
    printf("%.0f %u %zu\n", (double)operations * 1e9 / (double)(end - began), operations_ns[operations / 2], operations);
    return 0;
}
