#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "builtins/answer.h"
#include "builtins/builtins.h"
#include "builtins/resolved-path.h"

// Checks the kind before it opens the file: open() of a device may have effects, and of a FIFO may block.
static int open_regular(const char *path, struct stat *about)
{
	int handle = open(path, O_PATH | O_CLOEXEC);
	if (handle < 0 || fstat(handle, about) != 0)
		return -1;
	if (!S_ISREG(about->st_mode)) {
		errno = S_ISDIR(about->st_mode) ? EISDIR : EINVAL;
		return -1;
	}
	char again[DESCRIPTOR_PATH_BYTES];
	return open(descriptor_path(again, handle), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

// False in file systems that generate content on read. Their st_size is meaningless: 0 in /proc, 4096 in /sys.
static bool is_size_known(int fd)
{
	struct statfs system;
	if (fstatfs(fd, &system) != 0)
		return true;
	switch ((unsigned long)system.f_type) {
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC:
	case DEBUGFS_MAGIC:
	case TRACEFS_MAGIC:
	case SECURITYFS_MAGIC:
		return false;
	default:
		return true;
	}
}

static int copy(int fd, uint64_t offset, uint64_t length, bool is_exact)
{
	static uint8_t bytes[64 * 1024];
	while (length > 0) {
		ssize_t got = pread(fd, bytes, length < sizeof bytes ? (size_t)length : sizeof bytes, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return builtin_fail("read", errno);
		if (got == 0)
			return is_exact ? builtin_fail("the file became shorter", ESTALE) : 0;
		answer_bytes(bytes, (size_t)got);
		offset += (uint64_t)got;
		length -= (uint64_t)got;
	}
	return 0;
}

int builtin_read(char *const *argv)
{
	struct stat about;
	uint64_t offset = strtoull(argv[1], NULL, 10);
	uint64_t length = argv[2][0] == '\0' ? UINT64_MAX : strtoull(argv[2], NULL, 10);
	int fd = open_regular(argv[0], &about);
	if (fd < 0)
		return builtin_fail("open", errno);
	bool is_known = is_size_known(fd);
	uint64_t size = (uint64_t)about.st_size;
	if (is_known) {
		uint64_t left = offset < size ? size - offset : 0;
		length = length < left ? length : left;
	}
	answer_entry(&about, is_known ? 0 : ENTRY_SIZE_UNKNOWN, "", "");
	// Send the entry at once: the host may need it before it reads the content.
	answer_flush();
	return copy(fd, offset, length, is_known);
}
