/*
 * Part of the preload object: all threads of a zygote (zygote.c) stand still in the handler of a signal while one of them, the main thread,
 * copies the process. In the copy, zygote-child.c makes them anew, and each leaves the handler there, too.
 */
#define _GNU_SOURCE
#include "zygote-process.h"

#ifdef __x86_64__

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PARK_MS 2000

/* The request that threads are parked for; 0: none. A signal that arrives late finds another number, and its thread goes on. */
static atomic_int round_now;
/* What the main thread does next. */
static atomic_int next_step;
enum { WAIT, FORK, GIVE_UP };
static int last_round;
/* The process id of the copy, or a negative error number. */
static long copy;

static void futex(atomic_int *word, int operation, int value, const struct timespec *at_most)
{
	syscall(SYS_futex, word, operation, value, at_most, NULL, 0);
}

static void wake_all(atomic_int *word)
{
	futex(word, FUTEX_WAKE, INT_MAX, NULL);
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void release(void)
{
	atomic_store(&round_now, 0);
	wake_all(&round_now);
}

static void copy_process(int self)
{
	copy = syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
	if (copy == 0) {
		atomic_store(&round_now, 0);
		be_child(self);
	} else {
		if (copy < 0)
			copy = -errno;
		release();
	}
}

static struct zygote_thread *take_place(int *index)
{
	struct zygote_thread *thread;

	*index = atomic_fetch_add(&zygote.thread_count, 1);
	thread = &zygote.threads[*index];
	thread->tls = (char *)pthread_self();
	prctl(PR_GET_NAME, thread->name);
	return thread;
}

/* In a thread of the copy, `_setjmp` returns again. */
static void park(int round)
{
	int index, step;
	pid_t id = (pid_t)syscall(SYS_gettid);
	struct zygote_thread *thread = take_place(&index);

	if (_setjmp(thread->frame) != 0)
		return;
	atomic_store(&thread->id, id);
	atomic_fetch_add(&zygote.parked, 1);
	wake_all(&zygote.parked);
	if (id == getpid()) {
		while ((step = atomic_load(&next_step)) == WAIT)
			futex(&next_step, FUTEX_WAIT, WAIT, NULL);
		if (step == FORK)
			copy_process(index);
		return;
	}
	while (atomic_load(&round_now) == round)
		futex(&round_now, FUTEX_WAIT, round, NULL);
}

static void on_signal(int signal)
{
	int error = errno, round = atomic_load(&round_now);

	(void)signal;
	if (round != 0)
		park(round);
	errno = error;
}

void handle_parking(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	sigfillset(&action.sa_mask);
	sigaction(ZYGOTE_SIGNAL, &action, NULL);
}

static int is_parked(pid_t id)
{
	for (int i = 0; i < ZYGOTE_MAX_THREADS; i++)
		if (atomic_load(&zygote.threads[i].id) == id)
			return 1;
	return 0;
}

/* How many of the threads neither stand still nor have ended. QEMU's workers end when they have nothing to do. */
static int count_running(const struct zygote_request *request)
{
	int count = 0;

	for (int i = 0; i < request->thread_count; i++)
		if (!is_parked(request->threads[i]) && syscall(SYS_tgkill, getpid(), request->threads[i], 0) == 0)
			count++;
	return count;
}

int park_threads(const struct zygote_request *request)
{
	const struct timespec a_while = {.tv_nsec = 5000000};
	long until = now_ms() + PARK_MS;
	int parked;

	for (int i = 0; i < ZYGOTE_MAX_THREADS; i++)
		atomic_store(&zygote.threads[i].id, 0);
	atomic_store(&zygote.thread_count, 0);
	atomic_store(&zygote.parked, 0);
	atomic_store(&next_step, WAIT);
	atomic_store(&round_now, ++last_round);
	for (int i = 0; i < request->thread_count; i++)
		syscall(SYS_tgkill, getpid(), request->threads[i], ZYGOTE_SIGNAL);
	while ((parked = atomic_load(&zygote.parked)) < request->thread_count && count_running(request) > 0) {
		if (now_ms() > until)
			return -1;
		futex(&zygote.parked, FUTEX_WAIT, parked, &a_while);
	}
	return 0;
}

void unpark_threads(void)
{
	atomic_store(&next_step, GIVE_UP);
	wake_all(&next_step);
	release();
}

long fork_parked(void)
{
	int index;
	struct zygote_thread *self = take_place(&index);

	if (_setjmp(self->frame) != 0)
		return 0;
	atomic_store(&next_step, FORK);
	wake_all(&next_step);
	while (atomic_load(&round_now) == last_round)
		futex(&round_now, FUTEX_WAIT, last_round, NULL);
	return copy;
}

#endif
