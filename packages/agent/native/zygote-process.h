/* What the parts of a zygote's process share (zygote.c, zygote-threads.c, zygote-child.c, zygote-hooks.c). All of it is hidden from QEMU. */
#ifndef ZYGOTE_PROCESS_H
#define ZYGOTE_PROCESS_H

#ifdef __x86_64__

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "zygote.h"

#pragma GCC visibility push(hidden)

/* QEMU uses no real-time signal. */
#define ZYGOTE_SIGNAL (SIGRTMAX - 3)

struct zygote_thread {
	/* Inside of the signal's handler. */
	jmp_buf frame;
	char *tls, name[16];
	/* 0 unless it is parked. */
	atomic_int id;
};

extern struct zygote {
	/* The socket on which it listens, and the connection with the launcher that asks for a child. */
	int listener, launcher;
	struct zygote_request request;
	/* The descriptors that came with the request, and the values of its counters. */
	int sources[ZYGOTE_MAX_DESCRIPTORS];
	uint64_t counts[ZYGOTE_MAX_DESCRIPTORS];
	struct zygote_thread threads[ZYGOTE_MAX_THREADS];
	atomic_int thread_count, parked;
} zygote;

/* Starts the thread that serves requests, if this process is to be a zygote, and returns whether it is. */
int begin_zygote(void);
/* Installs the handler in which threads park. */
void handle_parking(void);
/* Finds the functions of QEMU by which a child can continue another VM. */
void expect_state(void);
/* Whether there were all of them. */
int can_continue(void);
/* Waits until all threads of the request stand still. Returns 0, or -1 if one does not in time. */
int park_threads(const struct zygote_request *request);
/* Lets them go on. */
void unpark_threads(void);
/* Copies the process, and lets the threads go on. Returns the copy's process id, or a negative error number, and 0 in the copy. */
long fork_parked(void);
/* Learns where the C library keeps what a new thread needs. Returns whether this C library is one that it knows. */
int knows_threads(void);
/* Makes the copied process a VM of its own; `self` is the parked main thread, which goes on when this returns. */
void be_child(int self);

void tell(enum zygote_kind kind, int value, const char *step);
int is_told_to_go(int at_most_ms);

/* The C library's functions. */
int real_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument);
int real_sigmask(int how, const sigset_t *set, sigset_t *old);

/* QEMU's own filter of system calls, which a zygote keeps for its children. Returns 0, or -1 with errno. */
int install_qemu_filter(void);
/* The offloads that QEMU has set on its TAP. */
extern unsigned long tap_offloads;

#pragma GCC visibility pop

#endif

#endif
