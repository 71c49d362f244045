/*
 * Part of the preload object: a running QEMU that makes copies of itself, threads and all (docs/adr/0046-zygotes.md).
 *
 * A QEMU that is started has to translate all code of its guest again, which takes most of the time of a first command. A copy has the
 * translated code, and shares it and the guest's memory until one of them writes.
 *
 * ZYGOTE_FD is an inherited socket, to which the launcher of a copy connects (jail-zygote.c). This file is the zygote's side:
 *
 *     request ──► every thread but this one runs into the handler of a signal, and stays there ("parked")
 *             ◄── PARKED; the launcher counts the threads again
 *     GO      ──► the main thread copies the process, in a new pid namespace
 *             ◄── FORKED; the zygote's threads leave their handlers
 *
 * and zygote-child.c the copy's, which makes the threads anew, each with its old stack and thread-local memory, so that it also leaves
 * the handler. Nothing is copied if a descriptor is open that the request does not name.
 */
#define _GNU_SOURCE
#include "zygote-process.h"

#ifdef __x86_64__

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GO_MS 2000
#define MAX_NUMBER 1024

struct zygote zygote = {.listener = -1, .launcher = -1, .request.memory = -1};

void tell(enum zygote_kind kind, int value, const char *step)
{
	struct zygote_message message = {.kind = kind, .value = value};

	strncpy(message.step, step, sizeof message.step - 1);
	/* A launcher that is gone needs no answer. */
	(void)!send(zygote.launcher, &message, sizeof message, MSG_NOSIGNAL);
}

int is_told_to_go(int at_most_ms)
{
	struct pollfd waiting = {.fd = zygote.launcher, .events = POLLIN};
	struct zygote_message message;

	if (poll(&waiting, 1, at_most_ms) <= 0)
		return 0;
	return recv(zygote.launcher, &message, sizeof message, MSG_WAITALL) == sizeof message && message.kind == ZYGOTE_GO;
}

static int is_among(int fd, const int32_t *list, int count)
{
	for (int i = 0; i < count; i++)
		if (list[i] == fd)
			return 1;
	return 0;
}

/* Returns a descriptor that the child would have by accident; -1 if there is none. */
static int unnamed_descriptor(const struct zygote_request *request)
{
	for (int fd = 0; fd < MAX_NUMBER; fd++) {
		if (fd == zygote.listener || fd == zygote.launcher || fcntl(fd, F_GETFD) < 0)
			continue;
		if (!is_among(fd, request->targets, request->target_count) && !is_among(fd, request->counters, request->counter_count) &&
		    !is_among(fd, request->shared, request->shared_count) && !is_among(fd, zygote.sources, request->target_count))
			return fd;
	}
	return -1;
}

/* No other thread runs, so a value that is read and written back has not been away. */
static int read_counters(const struct zygote_request *request)
{
	for (int i = 0; i < request->counter_count; i++) {
		struct pollfd counter = {.fd = request->counters[i], .events = POLLIN};
		uint64_t value = 0;

		if (poll(&counter, 1, 0) == 1 && (counter.revents & POLLIN) != 0)
			if (read(counter.fd, &value, sizeof value) != sizeof value || write(counter.fd, &value, sizeof value) != sizeof value)
				return -1;
		zygote.counts[i] = value;
	}
	return 0;
}

/* Returns 1 in the child. */
static int fork_with(const struct zygote_request *request)
{
	int unnamed;
	long child;

	if (park_threads(request) != 0) {
		tell(ZYGOTE_FAILED, ETIMEDOUT, "a thread does not stand still");
	} else if ((unnamed = unnamed_descriptor(request)) >= 0) {
		tell(ZYGOTE_FAILED, unnamed, "a descriptor has no place in the child");
	} else if (read_counters(request) != 0) {
		tell(ZYGOTE_FAILED, errno, "counter of events");
	} else {
		tell(ZYGOTE_PARKED, 0, "");
		if (is_told_to_go(GO_MS)) {
			child = fork_parked();
			if (child > 0)
				tell(ZYGOTE_FORKED, (int)child, "");
			else if (child < 0)
				tell(ZYGOTE_FAILED, (int)-child, "copy of the process");
			return child == 0;
		}
	}
	unpark_threads();
	return 0;
}

/* Returns how many descriptors came with the request, which the caller closes; -1 in the child. */
static int answer(struct zygote_request *request)
{
	char space[CMSG_SPACE(sizeof zygote.sources)];
	struct iovec data = {request, sizeof *request};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
	ssize_t got = syscall(SYS_recvmsg, zygote.launcher, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
	struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	int count = 0;

	if (header != NULL && header->cmsg_type == SCM_RIGHTS) {
		count = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(zygote.sources, CMSG_DATA(header), (size_t)count * sizeof(int));
	}
	if (got != sizeof *request || request->target_count != count)
		tell(ZYGOTE_FAILED, EINVAL, "request");
	else if (fork_with(request) == 1)
		return -1;
	return count;
}

/* The child serves no requests: it ends when its launcher does. */
static _Noreturn void wait_for_the_end(void)
{
	char byte;

	while (recv(zygote.launcher, &byte, 1, 0) < 0 && errno == EINTR)
		;
	_exit(1);
}

static void *serve(void *nothing)
{
	int count;

	prctl(PR_SET_NAME, "zygote");
	for (;;) {
		zygote.launcher = accept4(zygote.listener, NULL, NULL, SOCK_CLOEXEC);
		if (zygote.launcher < 0) {
			if (errno == EINTR || errno == ECONNABORTED)
				continue;
			return nothing;
		}
		count = answer(&zygote.request);
		if (count < 0)
			wait_for_the_end();
		for (int i = 0; i < count; i++)
			close(zygote.sources[i]);
		close(zygote.launcher);
	}
}

/* Called before the first thread is started. Returns whether this process is a zygote. */
int begin_zygote(void)
{
	const char *text = getenv("ZYGOTE_FD");
	sigset_t all, before;
	pthread_t server;

	if (text == NULL)
		return 0;
	zygote.listener = atoi(text);
	if (!knows_threads())
		return 0;
	expect_state();
	handle_parking();
	/* Nobody waits for its children. */
	signal(SIGCHLD, SIG_IGN);
	sigfillset(&all);
	real_sigmask(SIG_SETMASK, &all, &before);
	if (real_create(&server, NULL, serve, NULL) == 0)
		pthread_detach(server);
	real_sigmask(SIG_SETMASK, &before, NULL);
	return 1;
}

#endif
