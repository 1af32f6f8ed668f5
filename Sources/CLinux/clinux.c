#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <linux/close_range.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int clinux_accept(int listener, struct sockaddr *address, socklen_t *length) {
  return accept4(listener, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int clinux_epoll_wait(int epoll, struct epoll_event *events, int capacity, int64_t nanoseconds) {
  static atomic_bool is_coarse;
  if (!atomic_load_explicit(&is_coarse, memory_order_relaxed)) {
    struct timespec limit = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    int ready = epoll_pwait2(epoll, events, capacity, nanoseconds < 0 ? NULL : &limit, NULL);
    // Containers' system call filters of that time answer EPERM to calls that they do not know.
    if (ready >= 0 || (errno != ENOSYS && errno != EPERM)) return ready;
    atomic_store_explicit(&is_coarse, true, memory_order_relaxed);
  }
  if (nanoseconds < 0) return epoll_wait(epoll, events, capacity, -1);
  int64_t milliseconds = (nanoseconds + 999999) / 1000000;
  return epoll_wait(epoll, events, capacity, milliseconds > INT_MAX ? INT_MAX : (int)milliseconds);
}

int64_t clinux_thread_cpu_nanoseconds(void) {
  struct timespec spent;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return (int64_t)spent.tv_sec * 1000000000 + spent.tv_nsec;
}

void clinux_name_thread(const char *name) {
  char kept[16] = {0};
  strncpy(kept, name, sizeof kept - 1);
  pthread_setname_np(pthread_self(), kept);
}

// A handler may do next to nothing, and writing to a pipe is of that: the number goes in here and
// is read on a loop. Blocking the signals and using a signalfd would not do, since the main thread
// of a Swift program waits with nothing blocked.
static int signal_pipe[2] = {-1, -1};

static void note_signal(int number) {
  int before = errno;
  unsigned char byte = (unsigned char)number;
  // When the pipe is full, there is enough in it to end a program.
  if (write(signal_pipe[1], &byte, 1) < 0) errno = before;
  errno = before;
}

int clinux_signal_descriptor(void) {
  if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
  struct sigaction action = {0};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  sigfillset(&action.sa_mask);
  if (sigaction(SIGINT, &action, NULL) != 0 || sigaction(SIGTERM, &action, NULL) != 0 ||
      sigaction(SIGHUP, &action, NULL) != 0) {
    return -1;
  }
  return signal_pipe[0];
}

// Between fork and exec only async-signal-safe calls are allowed, since other threads of the
// parent may have held locks.
static void become(const char *path, char *const argv[], char *const envp[], int output, int cpu,
                   pid_t parent, int report) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // The parent may have died before the line above took effect.
  if (getppid() != parent) _exit(127);
  if (cpu >= 0) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    sched_setaffinity(0, sizeof only, &only);
  }
  // Libraries open pipes that they forget to mark: held by a long-lived child, such a pipe would
  // never end for its reader.
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDIN_FILENO);
  dup2(output >= 0 ? output : nothing, STDOUT_FILENO);
  dup2(output >= 0 ? output : nothing, STDERR_FILENO);
  execve(path, argv, envp);
  int failure = errno;
  if (write(report, &failure, sizeof failure) < 0) _exit(126);
  _exit(127);
}

pid_t clinux_spawn(const char *path, char *const argv[], char *const envp[], int output, int cpu) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return -1;
  pid_t parent = getpid();
  pid_t child = fork();
  if (child == 0) become(path, argv, envp, output, cpu, parent, report[1]);
  int failure = child < 0 ? errno : 0;
  close(report[1]);
  // The pipe closes by itself when exec succeeds.
  if (child > 0 && read(report[0], &failure, sizeof failure) != sizeof failure) failure = 0;
  close(report[0]);
  if (failure == 0) return child;
  if (child > 0) waitpid(child, NULL, 0);
  errno = failure;
  return -1;
}

int64_t clinux_heap_bytes_in_use(void) {
  struct mallinfo2 heap = mallinfo2();
  return (int64_t)(heap.uordblks + heap.hblkhd);
}
