/*
 * Makes syncs slow: loaded before libc, it waits as many milliseconds as the file named by
 * LOCKSTEP_SLOW_DISK says before every fsync and fdatasync.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_a_while(void) {
  const char *path = getenv("LOCKSTEP_SLOW_DISK");
  char text[16] = {0};
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  if (read(file, text, sizeof text - 1) > 0) usleep((useconds_t)atoi(text) * 1000);
  close(file);
}

static int call(const char *name, int file) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  wait_a_while();
  return real(file);
}

int fsync(int file) { return call("fsync", file); }
int fdatasync(int file) { return call("fdatasync", file); }
