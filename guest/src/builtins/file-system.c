// Builtins for whole file systems.
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#include "builtins/answer.h"
#include "builtins/builtins.h"
#include "volumes.h"

int builtin_sync(char *const *argv)
{
	if (strcmp(argv[0], "all") != 0)
		return builtin_fail("sync", EINVAL);
	sync();
	return 0;
}

// From linux/ext4.h, which is not in all kernel headers.
#define EXT4_IOC_RESIZE_FS _IOW('f', 16, uint64_t)
enum { SECTOR_BYTES = 512, DEVICE_DEADLINE_MS = 5000 };

static int resize(const char *where, uint64_t device_bytes)
{
	struct statfs about;
	int fd = open(where, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstatfs(fd, &about) != 0)
		return errno;
	uint64_t blocks = device_bytes / (uint64_t)about.f_bsize;
	int error = ioctl(fd, EXT4_IOC_RESIZE_FS, &blocks) != 0 ? errno : 0;
	close(fd);
	return error;
}

int builtin_grow(char *const *argv)
{
	char where[VOLUME_WHERE_ROOM];
	uint64_t wanted_bytes = strtoull(argv[1], NULL, 10), sectors;
	for (int waited_ms = 0;; waited_ms++) {
		if (!volumes_where(atoi(argv[0]), where, &sectors)) {
			answer_u64(0);
			return 0;
		}
		// The driver sees the new size shortly after the host has changed it.
		if (sectors * SECTOR_BYTES >= wanted_bytes)
			break;
		if (waited_ms == DEVICE_DEADLINE_MS)
			return builtin_fail("device", ETIMEDOUT);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	int error = resize(where, sectors * SECTOR_BYTES);
	if (error != 0)
		return builtin_fail("resize", error);
	answer_u64(1);
	return 0;
}
