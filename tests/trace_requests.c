/* Known requests on eight threads, for the tests of capture: `trace_requests FOLDER ROUNDS`.
 *
 * Every thread works on a file of its own and, at offsets of its own, on a shared one, by every call that is captured; the main thread
 * does what changes processes and folders. What the kernel answered is written down afterwards, as tab-separated lines on standard
 * output: thread, call, file, offset, length, result (of an error, less than 0: -errno); "-" where there is none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, BLOCK = 4096, NONE = -1 };

struct truth {
    const char *call;
    char *file;
    long offset, length, result;
};

struct worker {
    char name[16], own[PATH_MAX], log[PATH_MAX];
    struct truth *rows;
    size_t count, room;
};

static char folder[PATH_MAX / 2], shared[PATH_MAX];
static int rounds;

static long note(struct worker *worker, const char *call, const char *file, long offset, long length, long result)
{
    if (worker->count == worker->room) {
        worker->room = worker->room ? worker->room * 2 : 1024;
        worker->rows = realloc(worker->rows, worker->room * sizeof *worker->rows);
    }
    worker->rows[worker->count++] = (struct truth){call, strdup(file), offset, length, result < 0 ? -errno : result};
    return result;
}

static void round_of(struct worker *w, int number, int shared_fd, int log_fd)
{
    char block[BLOCK], path[PATH_MAX + 8];
    memset(block, number, sizeof block);
    struct iovec two[2] = {{block, 100}, {block + 100, 28}};
    long at = (w->name[1] - '0') * 1000000L + number * BLOCK;

    int fd = note(w, "openat", w->own, NONE, NONE, openat(AT_FDCWD, w->own, O_RDWR | O_CREAT | O_TRUNC, 0644));
    note(w, "write", w->own, 0, BLOCK, write(fd, block, BLOCK));
    note(w, "writev", w->own, BLOCK, 128, writev(fd, two, 2));
    note(w, "lseek", w->own, 10, NONE, lseek(fd, 10, SEEK_SET));
    note(w, "read", w->own, 10, 100, read(fd, block, 100));
    note(w, "readv", w->own, 110, 128, readv(fd, two, 2));
    int copy = note(w, "dup", w->own, NONE, NONE, dup(fd));
    note(w, "read", w->own, 238, 50, read(copy, block, 50)); /* duplicates share their position */
    note(w, "pread64", w->own, number, 200, pread(fd, block, 200, number));
    note(w, "pread64", w->own, 1 << 20, 10, pread(fd, block, 10, 1 << 20)); /* beyond the end: 0 */
    note(w, "read", w->own, 288, 20, read(fd, block, 20));
    note(w, "pwritev", w->own, 5000, 128, pwritev(fd, two, 2, 5000));
    note(w, "preadv", w->own, 5000, 128, preadv(fd, two, 2, 5000));
    note(w, "ftruncate", w->own, NONE, 3000, ftruncate(fd, 3000));
    note(w, "lseek", w->own, 3000, NONE, lseek(fd, 0, SEEK_END));
    note(w, "write", w->own, 3000, 7, write(copy, block, 7));
    note(w, "fdatasync", w->own, NONE, NONE, fdatasync(fd));
    note(w, "fsync", w->own, NONE, NONE, fsync(copy));
    char *map = mmap(NULL, 3000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    note(w, "mmap", w->own, 0, 3000, (long)map);
    map[1]++;
    note(w, "msync", w->own, 0, BLOCK, msync(map, BLOCK, MS_SYNC));
    munmap(map, 3000);
    note(w, "close", w->own, NONE, NONE, close(copy));
    note(w, "close", w->own, NONE, NONE, close(fd));
    note(w, "pwrite64", shared, at, BLOCK, pwrite(shared_fd, block, BLOCK, at));
    note(w, "pread64", shared, at, BLOCK, pread(shared_fd, block, BLOCK, at));
    note(w, "write", w->log, number * 11L, 11, write(log_fd, "a log line\n", 11));
    snprintf(path, sizeof path, "%s.new", w->own);
    note(w, "rename", w->own, NONE, NONE, rename(w->own, path));
    note(w, "openat", w->own, NONE, NONE, openat(AT_FDCWD, w->own, O_RDONLY));
    note(w, "unlink", path, NONE, NONE, unlink(path));
}

static void *work(void *argument)
{
    struct worker *w = argument;
    prctl(PR_SET_NAME, w->name);
    int shared_fd = note(w, "openat", shared, NONE, NONE, openat(AT_FDCWD, shared, O_RDWR | O_CREAT, 0644));
    int log_fd = note(w, "openat", w->log, NONE, NONE, openat(AT_FDCWD, w->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    for (int number = 0; number < rounds; number++)
        round_of(w, number, shared_fd, log_fd);
    int from = 500 + 20 * (w->name[1] - '0'); /* numbers of its own: dup2 closes what another thread has at that number */
    int high = note(w, "fcntl", shared, NONE, NONE, fcntl(shared_fd, F_DUPFD_CLOEXEC, from));
    note(w, "dup2", shared, NONE, NONE, dup2(high, high + 10));
    note(w, "close", shared, NONE, NONE, close(shared_fd));
    note(w, "pread64", shared, 0, 1, pread(high + 10, &(char){0}, 1, 0));
    close_range(high, high, 0);
    note(w, "close", shared, NONE, NONE, close(high + 10));
    note(w, "close", w->log, NONE, NONE, close(log_fd));
    return NULL;
}

/* Folders, children and what is no file; before the threads, so that numbers of descriptors are known. */
static void lead(struct worker *w)
{
    char path[PATH_MAX], byte;
    snprintf(path, sizeof path, "%s/relative", folder);
    if (chdir(folder) != 0)
        exit(2);
    int fd = note(w, "openat", path, NONE, NONE, openat(AT_FDCWD, "./relative", O_RDWR | O_CREAT | O_EXCL, 0644));
    note(w, "write", path, 0, 9, write(fd, "inherited", 9));
    int top = note(w, "openat", folder, NONE, NONE, openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY));
    if (fork() == 0) { /* a child shares the position, and what it reads is its parent's file */
        prctl(PR_SET_NAME, "child");
        pread(fd, &byte, 1, 3);
        write(fd, "!", 1);
        _exit(0);
    }
    wait(NULL);
    note(w, "write", path, 10, 1, write(fd, "?", 1));
    note(w, "close", path, NONE, NONE, close(fd));
    int pair[2];
    if (pipe(pair) != 0 || write(pair[1], "x", 1) != 1 || read(pair[0], &byte, 1) != 1)
        exit(2);
    close(pair[0]);
    close(pair[1]);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || write(pair[0], "x", 1) != 1 || read(pair[1], &byte, 1) != 1)
        exit(2);
    int old = pair[0];
    close(pair[0]);
    close(pair[1]);
    fd = note(w, "openat", path, NONE, NONE, openat(top, "relative", O_RDONLY));
    if (fd != old) /* a socket had this number */
        exit(2);
    note(w, "read", path, 0, 4, read(fd, (char[4]){0}, 4));
    note(w, "close", path, NONE, NONE, close(fd));
    note(w, "truncate", path, NONE, 5, truncate(path, 5));
    note(w, "unlinkat", path, NONE, NONE, unlinkat(top, "relative", 0));
    note(w, "close", folder, NONE, NONE, close(top));
}

int main(int count, char **words)
{
    if (count != 3 || realpath(words[1], folder) == NULL)
        return 2;
    rounds = atoi(words[2]);
    snprintf(shared, sizeof shared, "%s/shared", folder);
    static struct worker workers[THREADS + 1];
    pthread_t threads[THREADS];
    prctl(PR_SET_NAME, "lead");
    strcpy(workers[THREADS].name, "lead");
    lead(&workers[THREADS]);
    for (int number = 0; number < THREADS; number++) {
        struct worker *w = &workers[number];
        snprintf(w->name, sizeof w->name, "w%d", number);
        snprintf(w->own, sizeof w->own, "%s/own%d", folder, number);
        snprintf(w->log, sizeof w->log, "%s/log%d", folder, number);
        pthread_create(&threads[number], NULL, work, w);
    }
    for (int number = 0; number < THREADS; number++)
        pthread_join(threads[number], NULL);
    for (struct worker *w = workers; w <= &workers[THREADS]; w++)
        for (struct truth *row = w->rows; row < w->rows + w->count; row++) {
            char offset[32] = "-", length[32] = "-";
            if (row->offset >= 0)
                snprintf(offset, sizeof offset, "%ld", row->offset);
            if (row->length >= 0)
                snprintf(length, sizeof length, "%ld", row->length);
            printf("%s\t%s\t%s\t%s\t%s\t%ld\n", w->name, row->call, row->file, offset, length, row->result);
        }
    return 3;
}
