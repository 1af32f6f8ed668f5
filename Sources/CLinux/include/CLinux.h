// What the Glibc module does not show to Swift: epoll, eventfd, signalfd, and a few GNU calls.
#ifndef CLINUX_H
#define CLINUX_H

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>

/// accept4 with SOCK_NONBLOCK | SOCK_CLOEXEC; -1 and errno on failure.
int clinux_accept(int listener, struct sockaddr *address, socklen_t *length);

/// CPU time of the calling thread so far, in nanoseconds.
int64_t clinux_thread_cpu_nanoseconds(void);

/// Names the calling thread for debuggers; at most 15 bytes are kept.
void clinux_name_thread(const char *name);

/// Blocks SIGINT, SIGTERM and SIGHUP in this thread (and those it starts) and returns a
/// non-blocking signalfd that reports them; -1 and errno on failure.
int clinux_signal_descriptor(void);

/// Starts a program that is sent SIGTERM when the calling process ends, however it ends.
///
/// Signals are unblocked in the child, and its standard output and error go to `output`
/// (or nowhere when -1). Returns the child's process ID; -1 and errno on failure, also when the
/// program cannot be executed.
pid_t clinux_spawn(const char *path, char *const argv[], char *const envp[], int output);

#endif
