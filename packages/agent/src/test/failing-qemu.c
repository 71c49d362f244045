/*
 * Replaces QEMU in tests: runs the real QEMU, or writes an error message and fails at a chosen moment.
 *
 * The file CASE contains "LAUNCH MOMENT TIME":
 *  - LAUNCH: the number of the launch that fails; 0: every launch.
 *  - MOMENT: `start` (fails at once), `hang` (never starts), or the name of a monitor command.
 *  - TIME: QEMU is killed when it gets that monitor command for the TIMEth time.
 * The file COUNT contains the number of launches so far. Both paths are compile-time constants, because the agent chooses QEMU's
 * environment.
 *
 * The started process itself becomes QEMU, because the agent reads that process's memory. A child process forwards the monitor's
 * messages.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MONITOR 3
#define QEMU_END 4

static int count_launch(void)
{
	int count = 0;
	FILE *file = fopen(COUNT, "r+");

	if (file == NULL)
		return -1;
	if (fscanf(file, "%d", &count) != 1)
		count = 0;
	rewind(file);
	fprintf(file, "%d\n", ++count);
	fclose(file);
	return count;
}

/* The agent writes each command at once, and shorter than the buffer. */
static void pass_on(pid_t qemu, const char *moment, int times)
{
	static char buffer[65536];
	char wanted[96];
	struct pollfd ends[2] = {{.fd = MONITOR, .events = POLLIN}, {.fd = QEMU_END, .events = POLLIN}};

	snprintf(wanted, sizeof wanted, "\"execute\":\"%s\"", moment);
	while (poll(ends, 2, -1) > 0) {
		for (int i = 0; i < 2; i++) {
			if (ends[i].revents == 0)
				continue;
			ssize_t got = read(ends[i].fd, buffer, sizeof buffer - 1);
			if (got <= 0)
				return;
			buffer[got] = '\0';
			if (i == 0 && strstr(buffer, wanted) != NULL && --times == 0) {
				fprintf(stderr, "failing-qemu: I fail at %s\n", moment);
				kill(qemu, SIGKILL);
				return;
			}
			if (write(ends[1 - i].fd, buffer, (size_t)got) != got)
				return;
		}
	}
}

int main(int count, char **arguments)
{
	char moment[64];
	int failing, launch, times, pair[2];
	FILE *file = fopen(CASE, "r");

	/* The agent asks for the version before it launches anything. */
	if (count > 1 && strcmp(arguments[1], "--version") == 0) {
		execv(REAL, arguments);
		return 127;
	}
	if (file == NULL || fscanf(file, "%d %63s %d", &failing, moment, &times) != 3)
		return 127;
	fclose(file);
	launch = count_launch();
	if (failing != 0 && failing != launch) {
		execv(REAL, arguments);
		return 127;
	}
	if (strcmp(moment, "start") == 0 || strcmp(moment, "hang") == 0) {
		fprintf(stderr, "failing-qemu: I fail at %s\n", moment);
		while (strcmp(moment, "hang") == 0)
			pause();
		return 1;
	}
	pid_t qemu = getpid();
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		return 127;
	if (fork() == 0) {
		dup2(pair[1], QEMU_END);
		close_range(QEMU_END + 1, ~0U, 0);
		pass_on(qemu, moment, times);
		return 0;
	}
	close(pair[1]);
	dup2(pair[0], MONITOR);
	close(pair[0]);
	execv(REAL, arguments);
	return 127;
}
