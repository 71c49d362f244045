/*
 * Writes the time to /vm/times again and again, in milliseconds since the host's boot, one a line. It stands for the VM of a database
 * in tests of its launcher.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
	int file = open("/vm/times", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	for (;;) {
		struct timespec now;
		char line[32];
		int length;

		clock_gettime(CLOCK_BOOTTIME, &now);
		length = snprintf(line, sizeof line, "%lld\n", (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000);
		if (file < 0 || write(file, line, (size_t)length) != length)
			return 1;
		usleep(1000);
	}
}
