/* Threads that wait for known things, for the tests of capture: `trace_waits FILE`, where FILE lies on a slow device, not cached.
 *
 * Afterwards standard output has, for each thread, a tab-separated line: name, what it waited for, start and end of that in ns of
 * CLOCK_MONOTONIC.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { MS = 1000000, PAGE = 4096, FAULTED_PAGE = 300 };

static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){0, ms * MS}, NULL);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const char *path;
static int pipe_ends[2];

static void sleeper(void)
{
    pause_ms(60);
}

static void holder(void)
{
    pthread_mutex_lock(&mutex);
    pause_ms(80);
    pthread_mutex_unlock(&mutex);
}

static void waiter(void)
{
    pause_ms(20); /* the holder has it by now */
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static void listener(void)
{
    char byte;
    if (read(pipe_ends[0], &byte, 1) != 1)
        exit(2);
}

static void talker(void)
{
    pause_ms(60);
    if (write(pipe_ends[1], "x", 1) != 1)
        exit(2);
}

static void reader(void)
{
    char block[PAGE];
    int fd = open(path, O_RDONLY);
    if (pread(fd, block, PAGE, 100 * PAGE) != PAGE)
        exit(2);
    close(fd);
}

static void faulter(void)
{
    int fd = open(path, O_RDONLY);
    char *map = mmap(NULL, 400 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
    madvise(map, 400 * PAGE, MADV_RANDOM);
    if (map == MAP_FAILED || *(volatile char *)(map + FAULTED_PAGE * PAGE) == 1)
        exit(2);
    close(fd);
}

static void spinner(void)
{
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    sched_setaffinity(0, sizeof first, &first);
    for (long until = now() + 300L * MS; now() < until;)
        ;
}

static struct worker {
    const char *name, *what;
    void (*work)(void);
    long start, end;
} workers[] = {
    {"sleeper", "sleep", sleeper, 0, 0},   {"holder", "sleep", holder, 0, 0},     {"waiter", "lock", waiter, 0, 0},
    {"listener", "sleep", listener, 0, 0}, {"talker", "sleep", talker, 0, 0},     {"reader", "io", reader, 0, 0},
    {"faulter", "io", faulter, 0, 0},      {"spin0", "run_queue", spinner, 0, 0}, {"spin1", "run_queue", spinner, 0, 0},
};

static void *run(void *argument)
{
    struct worker *worker = argument;
    prctl(PR_SET_NAME, worker->name);
    worker->start = now();
    worker->work();
    worker->end = now();
    return NULL;
}

int main(int count, char **words)
{
    enum { WORKERS = sizeof workers / sizeof *workers };
    pthread_t threads[WORKERS];
    if (count != 2 || pipe(pipe_ends) != 0)
        return 2;
    path = words[1];
    for (int number = 0; number < WORKERS; number++)
        pthread_create(&threads[number], NULL, run, &workers[number]);
    for (int number = 0; number < WORKERS; number++)
        pthread_join(threads[number], NULL);
    for (int number = 0; number < WORKERS; number++)
        printf("%s\t%s\t%ld\t%ld\n", workers[number].name, workers[number].what, workers[number].start, workers[number].end);
    return 0;
}
