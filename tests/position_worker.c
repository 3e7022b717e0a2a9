/*
 * Makes the system calls that it is told over a socket, one at a time, so that nothing else of it is in a trace.
 *
 * Usage: position_worker SOCKET
 *
 * A message is "NUMBER WORD WORD ...", the number of the call and its arguments: a number, s:TEXT for a text, p:NUMBER for the
 * address of a number, b:LENGTH:BYTE for a buffer, or v:LENGTH:BYTE for an array of two buffers and, as the argument after it, 2.
 * The answer is the result, or the negative errno. The number -1 is a fork, -2 is a new program, and -3 is the end. After a fork
 * and in a new program, the process connects itself, and says that it is ready. The socket is used by recv and send, which no tool
 * captures as requests.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET 200
#define MOST (1 << 16)

static char buffer[MOST];
static struct sockaddr_un address = {.sun_family = AF_UNIX};

static void meet(void)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        exit(2);
    if (fd != SOCKET && dup3(fd, SOCKET, O_CLOEXEC) != SOCKET)
        exit(2);
    if (fd != SOCKET)
        close(fd);
    send(SOCKET, "ready", 5, MSG_NOSIGNAL);
}

static void fill(const char *word)
{
    char *rest;
    long length = strtol(word + 2, &rest, 10);
    if (length > MOST || *rest != ':')
        exit(2);
    memset(buffer, atoi(rest + 1), (size_t)length);
}

int main(int count, char **words)
{
    if (count != 2)
        return 2;
    strncpy(address.sun_path, words[1], sizeof address.sun_path - 1);
    meet();
    for (;;) {
        char text[1000] = "";
        if (recv(SOCKET, text, sizeof text - 1, 0) <= 0)
            return 3;
        long number = atol(text), arguments[6] = {0}, places[6];
        struct iovec vector[2];
        int at = 0;
        char *save;
        strtok_r(text, " ", &save);
        for (char *word; at < 6 && (word = strtok_r(NULL, " ", &save)) != NULL; at++) {
            switch (word[0]) {
            case 's':
                arguments[at] = (long)(word + 2);
                break;
            case 'p':
                places[at] = atol(word + 2);
                arguments[at] = (long)&places[at];
                break;
            case 'b':
                fill(word);
                arguments[at] = (long)buffer;
                break;
            case 'v':
                fill(word);
                size_t length = strtoul(word + 2, NULL, 10);
                vector[0] = (struct iovec){buffer, length / 2};
                vector[1] = (struct iovec){buffer + length / 2, length - length / 2};
                arguments[at] = (long)vector;
                break;
            default:
                arguments[at] = atol(word);
            }
        }
        long result;
        if (number == -3)
            return 0;
        if (number == -2)
            execl("/proc/self/exe", words[0], words[1], NULL);
        if (number == -1) {
            result = fork();
            if (result == 0) {
                close(SOCKET);
                meet();
                continue;
            }
        } else {
            result = syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
        }
        int length = snprintf(text, sizeof text, "%ld", result < 0 ? -(long)errno : result);
        send(SOCKET, text, (size_t)length, MSG_NOSIGNAL);
    }
}
