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
#include <sys/socket.h>
#include <sys/un.h>

/// accept4 with SOCK_NONBLOCK | SOCK_CLOEXEC; -1 and errno on failure.
int clinux_accept(int listener, struct sockaddr *address, socklen_t *length);

/// epoll_wait to the nanosecond, or to the next millisecond where the kernel has no epoll_pwait2
/// (before 5.11). `nanoseconds` below 0 wait without limit.
int clinux_epoll_wait(int epoll, struct epoll_event *events, int capacity, int64_t nanoseconds);

/// CPU time of the calling thread so far, in nanoseconds.
int64_t clinux_thread_cpu_nanoseconds(void);

/// Names the calling thread for debuggers; at most 15 bytes are kept.
void clinux_name_thread(const char *name);

/// Catches SIGINT, SIGTERM and SIGHUP, and returns a non-blocking descriptor from which each can be
/// read as one byte, its number; -1 and errno on failure. Call once.
int clinux_signal_descriptor(void);

/// Starts a program that is sent SIGTERM when the calling process ends, however it ends.
///
/// In the child signals are as in a new program, and its standard output and error go to `output`
/// (or nowhere when -1). With `cpu` at 0 or more it runs on that processor alone. Returns the child's
/// process ID; -1 and errno on failure, also when the program cannot be executed.
pid_t clinux_spawn(const char *path, char *const argv[], char *const envp[], int output, int cpu);

/// Bytes of the heap that are handed out at present, those in mappings of their own included.
int64_t clinux_heap_bytes_in_use(void);

// Of the thread sanitizer's runtime, which is there in builds with it only.
void __tsan_acquire(void *address);
void __tsan_release(void *address);

#endif
