/*
 * write-out FILE: writes the dirty pages of a file to the disk, a piece at a time, with a pause after each. An fsync() of a large file fills the
 * disk's queue, and every other fsync() of the host waits behind it: that of the agent's log, and those of the database.
 *
 * This program makes no promise. The agent calls fsync() afterwards: the kernel has few dirty pages left then, and reports the disk's errors to
 * that call.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PIECE_BYTES (1024 * 1024)
/* A pause takes this part of what its piece took. */
#define PAUSE_PART 4
#define NS_PER_SECOND INT64_C(1000000000)

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

static void pause_ns(int64_t ns)
{
	const struct timespec pause = {.tv_sec = ns / NS_PER_SECOND, .tv_nsec = ns % NS_PER_SECOND};

	nanosleep(&pause, NULL);
}

int main(int count, char **arguments)
{
	struct stat file;
	int fd;

	if (count != 2) {
		fputs("usage: write-out FILE\n", stderr);
		return 2;
	}
	fd = open(arguments[1], O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &file) != 0) {
		perror(arguments[1]);
		return 1;
	}
	for (off_t at = 0; at < file.st_size; at += PIECE_BYTES) {
		const int64_t began_ns = now_ns();

		if (sync_file_range(fd, at, PIECE_BYTES,
				    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER) != 0) {
			perror(arguments[1]);
			return 1;
		}
		pause_ns((now_ns() - began_ns) / PAUSE_PART);
	}
	return 0;
}
