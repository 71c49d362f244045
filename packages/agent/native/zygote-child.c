/*
 * Part of the preload object: the copy of a zygote (zygote.c) becomes a VM of its own, before it runs an instruction of its guest.
 *
 * It enters the namespaces that its launcher has made, takes its own descriptors, drops the rights that only a zygote has, and gets the
 * filters of system calls that every jailed QEMU has. Then it makes its threads anew. The main thread does all of it, inside of a signal's
 * handler; no other thread exists.
 */
#define _GNU_SOURCE
#include "zygote-process.h"

#ifdef __x86_64__

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail.h"
#include "memory-image.h"

#define GO_MS 10000
/* For a new thread, until it jumps to its old stack. */
#define STACK_BYTES 8192
/* What a thread of the C library has (pthread_create). QEMU's filter allows exactly these. */
#define THREAD_FLAGS                                                                                                                     \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |         \
	 CLONE_CHILD_CLEARTID)
/* The C library's signature of restartable sequences on this architecture. */
#define RSEQ_SIGNATURE 0x53053053

/* Places in a thread's own memory (`struct pthread`), from its beginning. */
static struct {
	long tid, robust_list;
} place;
static char *stacks;

static int place_of_tid(void)
{
	const char *self = (const char *)pthread_self();
	pid_t own = (pid_t)syscall(SYS_gettid);

	for (int at = 0x200; at < 0x400; at += (int)sizeof own)
		if (memcmp(self + at, &own, sizeof own) == 0)
			return at;
	return -1;
}

int knows_threads(void)
{
	char *robust;
	size_t length;

	place.tid = place_of_tid();
	if (place.tid < 0 || syscall(SYS_get_robust_list, 0, &robust, &length) != 0 || length != 24)
		return 0;
	place.robust_list = robust - (char *)pthread_self();
	stacks = mmap(NULL, STACK_BYTES * ZYGOTE_MAX_THREADS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return stacks != MAP_FAILED && place.robust_list > place.tid && place.robust_list < place.tid + 64;
}

static _Noreturn void give_up(const char *step)
{
	tell(ZYGOTE_FAILED, errno, step);
	_exit(1);
}

static void join_groups(void)
{
	for (int i = 0; i < zygote.request.target_count; i++)
		if (zygote.request.targets[i] == ZYGOTE_GROUP) {
			if (write(zygote.sources[i], "0", 1) != 1)
				give_up("control group");
			close(zygote.sources[i]);
		}
}

static void enter_namespaces(void)
{
	for (int i = 0; i < zygote.request.target_count; i++)
		if (zygote.request.targets[i] == ZYGOTE_NAMESPACE) {
			if (setns(zygote.sources[i], 0) != 0)
				give_up("namespace");
			close(zygote.sources[i]);
		}
}

/* A TAP has the settings that QEMU gave to the zygote's: it does not give them again. */
static void take_tap_settings(int from, int to)
{
	int header;

	if (ioctl(from, TUNGETVNETHDRSZ, &header) != 0)
		return;
	if (ioctl(to, TUNSETVNETHDRSZ, &header) != 0 || ioctl(to, TUNSETOFFLOAD, tap_offloads) != 0)
		give_up("settings of the TAP");
}

static void take_descriptor(int own, int number)
{
	int flags = fcntl(number, F_GETFL), of_descriptor = fcntl(number, F_GETFD);

	if (flags >= 0) {
		take_tap_settings(number, own);
		if ((flags & O_NONBLOCK) != 0 && fcntl(own, F_SETFL, fcntl(own, F_GETFL) | O_NONBLOCK) != 0)
			give_up("mode of a descriptor");
	}
	if (dup3(own, number, of_descriptor > 0 && (of_descriptor & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0) < 0)
		give_up("descriptor");
	close(own);
}

static void take_descriptors(void)
{
	const struct zygote_request *request = &zygote.request;

	for (int i = 0; i < request->target_count; i++)
		if (request->targets[i] >= 0)
			take_descriptor(zygote.sources[i], request->targets[i]);
	for (int i = 0; i < request->counter_count; i++) {
		int counter = eventfd(0, EFD_CLOEXEC);

		if (counter < 0 || (zygote.counts[i] > 0 && write(counter, &zygote.counts[i], sizeof zygote.counts[i]) < 0))
			give_up("counter of events");
		take_descriptor(counter, request->counters[i]);
	}
}

/* On its small stack, with the memory of the thread that it becomes. That one's id is kept there: locks that it holds name their owner by it. */
static int be_thread(void *argument)
{
	struct zygote_thread *self = argument;

	syscall(SYS_set_robust_list, self->tls + place.robust_list, 24);
	if (__rseq_size > 0) {
		struct rseq *sequence = (struct rseq *)(self->tls + __rseq_offset);

		sequence->cpu_id_start = 0;
		sequence->cpu_id = (uint32_t)RSEQ_CPU_ID_UNINITIALIZED;
		sequence->rseq_cs = 0;
		syscall(SYS_rseq, sequence, 32, 0, RSEQ_SIGNATURE);
	}
	prctl(PR_SET_NAME, self->name);
	_longjmp(self->frame, 1);
}

static void make_threads(int self)
{
	int count = atomic_load(&zygote.thread_count);
	pid_t id;

	syscall(SYS_set_robust_list, zygote.threads[self].tls + place.robust_list, 24);
	for (int i = 0; i < count; i++) {
		struct zygote_thread *thread = &zygote.threads[i];

		if (i != self && clone(be_thread, stacks + (i + 1) * STACK_BYTES, THREAD_FLAGS, thread, &id, thread->tls, thread->tls + place.tid) < 0)
			give_up("thread");
	}
}

/* QEMU's own filter would forbid it. */
static void begin_images(void)
{
	if (zygote.request.images < 0)
		return;
	if (serve_images(zygote.request.images) != 0)
		give_up("images of the memory");
	close(zygote.request.images);
}

void be_child(int self)
{
	const char *step;

	close(zygote.listener);
	if (!is_told_to_go(GO_MS))
		_exit(1);
	join_groups();
	enter_namespaces();
	take_descriptors();
	if (zygote.request.memory >= 0 && !can_continue()) {
		errno = ENOSYS;
		give_up("continuation of another VM");
	}
	signal(SIGCHLD, SIG_DFL);
	step = drop_rights(zygote.request.uid);
	if (step != NULL)
		give_up(step);
	/* Only the new user may enter it. */
	if (chdir("/vm") != 0)
		give_up("working directory");
	/* As after the start of a program. The change of the user has taken it away. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	if (install_filter() != 0)
		give_up("filter of system calls");
	begin_images();
	if (install_qemu_filter() != 0)
		give_up("QEMU's filter of system calls");
	make_threads(self);
	tell(ZYGOTE_READY, 0, "");
}

#endif
