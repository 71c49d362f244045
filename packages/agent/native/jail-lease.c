/*
 * --lease FILE: the program runs only while its host has a lease (docs/adr/0056-host-leases.md).
 *
 * The file begins with the time at which the lease ends, in milliseconds since the host's boot, and a space. The agent replaces it by
 * a rename. From that time on the launcher keeps the program stopped, and continues it when the file names a later time. The launcher
 * alone decides, so an agent that was stopped for long cannot let the program go on by mistake. Without the file there is no limit.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "jail.h"

/* Milliseconds between two looks at the file: the agent may replace it at any time, also by one with an earlier time. */
#define LOOK_MS 1000
/* The same while the program is stopped. */
#define LOOK_STOPPED_MS 100
#define UNLIMITED INT64_MAX
#define PRIORITY 1

/* Returns the number of bytes, or -1 with errno. */
static ssize_t read_text(const char *path, char *text, size_t size)
{
	int file = open(path, O_RDONLY | O_CLOEXEC), error;
	ssize_t length;

	if (file < 0)
		return -1;
	length = read(file, text, size - 1);
	error = errno;
	close(file);
	if (length >= 0)
		text[length] = '\0';
	errno = error;
	return length;
}

/*
 * Milliseconds since the host's boot, with the time for which it slept; -1 if it is unknown. From the same file as the agent reads,
 * because a container may have a file that counts from its own start.
 */
static int64_t now_ms(void)
{
	char text[64], *end;
	int64_t seconds;

	if (read_text("/proc/uptime", text, sizeof text) <= 0)
		return -1;
	seconds = strtoll(text, &end, 10);
	return *end == '.' ? seconds * 1000 + strtoll(end + 1, NULL, 10) * 10 : -1;
}

/* Milliseconds until the lease ends; 0 or less: it has ended, or nobody can tell. */
static int64_t left_ms(void)
{
	char text[128], *end;
	int64_t ends_at, now;

	if (read_text(options.lease, text, sizeof text) < 0)
		return errno == ENOENT ? UNLIMITED : 0;
	ends_at = strtoll(text, &end, 10);
	now = now_ms();
	return end != text && *end == ' ' && now >= 0 ? ends_at - now : 0;
}

void require_lease(void)
{
	if (options.lease == NULL || left_ms() > 0)
		return;
	errno = ETIME;
	fail("lease of the host");
}

/* A busy host, or one that is short of memory, must not delay the launcher. Without the right to that, it competes with the others. */
static void take_precedence(void)
{
	const struct sched_param priority = {.sched_priority = PRIORITY};

	(void)sched_setscheduler(0, SCHED_FIFO, &priority);
	(void)mlockall(MCL_CURRENT);
}

/* The clock of the timer counts while the host sleeps. The timeout of poll() does not. */
static void wait_for_end(int program, int timer, int64_t wait_ms)
{
	struct pollfd watched[] = {{.fd = program, .events = POLLIN}, {.fd = timer, .events = POLLIN}};
	const struct itimerspec once = {.it_value = {wait_ms / 1000, wait_ms % 1000 * 1000000}};

	if (timerfd_settime(timer, 0, &once, NULL) == 0)
		(void)poll(watched, 2, -1);
}

static int has_ended(int program)
{
	struct pollfd end = {.fd = program, .events = POLLIN};

	return poll(&end, 1, 0) > 0;
}

static void send_signal(int program, int number)
{
	(void)syscall(SYS_pidfd_send_signal, program, number, NULL, 0);
}

void keep_to_lease(int program)
{
	int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC), is_stopped = 0;

	if (timer < 0)
		fail("watch of the lease");
	take_precedence();
	while (!has_ended(program)) {
		int64_t left = left_ms();

		if (left <= 0 || is_stopped)
			send_signal(program, left > 0 ? SIGCONT : SIGSTOP);
		is_stopped = left <= 0;
		wait_for_end(program, timer, is_stopped ? LOOK_STOPPED_MS : left < LOOK_MS ? left : LOOK_MS);
	}
}
