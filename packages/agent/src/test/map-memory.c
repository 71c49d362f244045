/*
 * Maps memory as QEMU does, then runs commands from standard input. Answers each line with one line.
 *
 *     w FIRST PAGES STEP BYTE   fills every STEPth page from FIRST on
 *     r PAGE                    answers with the first byte of a page
 *     d FIRST PAGES             discards pages, as a balloon does
 *     s                         reads one byte of the device state, as QEMU's channels do
 *     k                         keeps what a capture has written; answers 1 if it could
 *     i                         keeps what the agent has copied from an image; answers 1 if it could
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define PAGE 4096UL

static int read_state(void)
{
	char byte;
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	return (int)recvmsg(atoi(getenv("GUEST_STATE_FD")), &message, 0);
}

int main(int argc, char **argv)
{
	unsigned long bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	int fd = open(getenv("GUEST_MEMORY_PATH"), O_RDWR);
	unsigned char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	char line[128];

	if (memory == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) != NULL) {
		unsigned long first, pages, step;
		int byte, answer = 0;

		if (sscanf(line, "w %lu %lu %lu %d", &first, &pages, &step, &byte) == 4)
			for (unsigned long page = first; page < first + pages; page += step)
				memset(memory + page * PAGE, byte, PAGE);
		else if (sscanf(line, "r %lu", &first) == 1)
			answer = memory[first * PAGE];
		else if (sscanf(line, "d %lu %lu", &first, &pages) == 2)
			answer = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(first * PAGE), (off_t)(pages * PAGE)) ||
				 madvise(memory + first * PAGE, pages * PAGE, MADV_DONTNEED);
		else if (line[0] == 's')
			answer = read_state();
		else if (line[0] == 'k')
			answer = open("/dev/null/kept-memory", O_RDONLY) >= 0;
		else if (line[0] == 'i')
			answer = open("/dev/null/imaged-memory", O_RDONLY) >= 0;
		printf("%d\n", answer);
		fflush(stdout);
	}
	return 0;
}
