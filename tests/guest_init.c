/* The first process of a guest: loads its modules, mounts the host's files, read-only, and runs one command on them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 256

static char *modules[MOST];

/* The order of dependencies is found by trying: what lacks a symbol is tried again after the others. */
static void load_modules(const char *list, char *parameters) {
    FILE *names = fopen(list, "r");
    char line[256];
    int count = 0, loaded = 1;
    while (names && count < MOST && fgets(line, sizeof line, names)) {
        line[strcspn(line, "\n")] = 0;
        modules[count++] = strdup(line);
    }
    while (loaded) {
        loaded = 0;
        for (int i = 0; i < count; i++) {
            int file = modules[i] ? open(modules[i], O_RDONLY | O_CLOEXEC) : -1;
            if (file < 0) continue;
            char *own = strstr(modules[i], "null_blk") ? parameters : "";
            if (syscall(SYS_finit_module, file, own, 0) == 0) {
                modules[i] = NULL;
                loaded = 1;
            }
            close(file);
        }
    }
    for (int i = 0; i < count; i++)
        if (modules[i]) printf("guest: %s is not loaded\n", modules[i]);
}

static void must_mount(const char *source, const char *target, const char *type, unsigned long flags, const char *options) {
    if (mount(source, target, type, flags, options) != 0) {
        perror(target);
        reboot(RB_POWER_OFF);
    }
}

int main(void) {
    mkdir("/proc", 0755), mkdir("/dev", 0755), mkdir("/host", 0755);
    must_mount("dev", "/dev", "devtmpfs", 0, NULL);
    int console = open("/dev/console", O_RDWR);
    dup2(console, 0), dup2(console, 1), dup2(console, 2);
    setvbuf(stdout, NULL, _IONBF, 0);
    load_modules("/modules.txt", "nr_devices=0");
    must_mount("host", "/host", "9p", MS_RDONLY, "trans=virtio,version=9p2000.L,cache=loose,msize=262144");
    must_mount("dev", "/host/dev", "devtmpfs", 0, NULL);
    must_mount("proc", "/host/proc", "proc", 0, NULL);
    must_mount("sys", "/host/sys", "sysfs", 0, NULL);
    must_mount("configfs", "/host/sys/kernel/config", "configfs", 0, NULL);
    must_mount("tmp", "/host/tmp", "tmpfs", 0, NULL);
    must_mount("run", "/host/run", "tmpfs", 0, NULL);
    mkdir("/host/dev/shm", 01777);
    must_mount("shm", "/host/dev/shm", "tmpfs", 0, NULL);
    char command[4096] = {0};
    FILE *text = fopen("/command.txt", "r");
    if (text) fread(command, 1, sizeof command - 1, text);
    if (chroot("/host") != 0 || chdir("/tmp") != 0) perror("chroot");
    pid_t child = fork();
    if (child == 0) {
        setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
        setenv("HOME", "/tmp", 1);
        execl("/bin/sh", "sh", "-c", command, NULL);
        perror("/bin/sh");
        _exit(127);
    }
    int status = 0;
    while (waitpid(-1, &status, 0) != child) {}
    printf("guest: exit code %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 255);
    sync();
    reboot(RB_POWER_OFF);
}
