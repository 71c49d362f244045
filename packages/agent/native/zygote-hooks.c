/*
 * Part of the preload object: functions of the C library and of libseccomp that QEMU calls, for the sake of zygotes (zygote.c). In any
 * other QEMU they do what they always do.
 */
#define _GNU_SOURCE
#include "zygote-process.h"

#ifdef __x86_64__

#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_tun.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The most that the kernel accepts. */
#define MAX_INSTRUCTIONS 4096

unsigned long tap_offloads;

static struct sock_filter instructions[MAX_INSTRUCTIONS];
static struct sock_fprog qemu_filter = {.filter = instructions};
static int is_zygote;

static void *next_function(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (found == NULL)
		abort();
	return found;
}

int real_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
	static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (next == NULL)
		next = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))next_function("pthread_create");
	return next(thread, attributes, start, argument);
}

int real_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	static int (*next)(int, const sigset_t *, sigset_t *);

	if (next == NULL)
		next = (int (*)(int, const sigset_t *, sigset_t *))next_function("pthread_sigmask");
	return next(how, set, old);
}

struct start {
	void *(*function)(void *);
	void *argument;
};

static void *start_parkable(void *given)
{
	struct start start = *(struct start *)given;
	sigset_t signals;

	free(given);
	sigemptyset(&signals);
	sigaddset(&signals, ZYGOTE_SIGNAL);
	real_sigmask(SIG_UNBLOCK, &signals, NULL);
	return start.function(start.argument);
}

/* QEMU's threads start with all signals blocked. */
__attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
							   void *argument)
{
	static int has_begun;
	struct start *start;
	int error;

	if (!has_begun) {
		has_begun = 1;
		is_zygote = begin_zygote();
	}
	if (!is_zygote)
		return real_create(thread, attributes, function, argument);
	start = malloc(sizeof *start);
	if (start == NULL)
		return EAGAIN;
	*start = (struct start){function, argument};
	error = real_create(thread, attributes, start_parkable, start);
	if (error != 0)
		free(start);
	return error;
}

__attribute__((visibility("default"))) int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t without;

	if (!is_zygote || set == NULL || how == SIG_UNBLOCK)
		return real_sigmask(how, set, old);
	without = *set;
	sigdelset(&without, ZYGOTE_SIGNAL);
	return real_sigmask(how, &without, old);
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	unsigned long argument;

	va_start(arguments, request);
	argument = va_arg(arguments, unsigned long);
	va_end(arguments);
	if (request == TUNSETOFFLOAD)
		tap_offloads = argument;
	return (int)syscall(SYS_ioctl, fd, request, argument);
}

/*
 * A copy would share the instance with its zygote. QEMU uses it for more than 64 descriptors, and does without if there is none.
 */
__attribute__((visibility("default"))) int epoll_create1(int flags)
{
	if (!is_zygote)
		return (int)syscall(SYS_epoll_create1, flags);
	errno = ENOSYS;
	return -1;
}

static int read_all(int fd)
{
	char *into = (char *)instructions;
	size_t length = 0;
	ssize_t got;

	while (length < sizeof instructions && (got = read(fd, into + length, sizeof instructions - length)) > 0)
		length += (size_t)got;
	qemu_filter.len = (unsigned short)(length / sizeof *instructions);
	return length > 0 && length < sizeof instructions ? 0 : -ENOMEM;
}

/* A zygote does not install its filter, which would forbid to make a child, but keeps it. The launcher gave the zygote another one. */
__attribute__((visibility("default"))) int seccomp_load(void *context)
{
	int pipes[2], error;

	if (!is_zygote)
		return ((int (*)(void *))next_function("seccomp_load"))(context);
	if (pipe(pipes) != 0)
		return -errno;
	/* A pipe holds 64 KiB, and the longest filter has 32. */
	error = ((int (*)(void *, int))next_function("seccomp_export_bpf"))(context, pipes[1]);
	close(pipes[1]);
	if (error == 0)
		error = read_all(pipes[0]);
	close(pipes[0]);
	return error;
}

int install_qemu_filter(void)
{
	if (qemu_filter.len == 0) {
		errno = ENOENT;
		return -1;
	}
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &qemu_filter);
}

#endif
