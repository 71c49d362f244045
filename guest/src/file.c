#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// O_NONBLOCK: open() of a FIFO in the place of a file must not block the agent.
ssize_t file_read(const char *path, char *to, size_t room)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -1;
	size_t used = 0;
	ssize_t got = 0;
	while (used < room - 1 && (got = read(fd, to + used, room - 1 - used)) > 0)
		used += (size_t)got;
	int error = errno;
	close(fd);
	to[used] = '\0';
	errno = error;
	return got < 0 ? -1 : (ssize_t)used;
}

static int write_all(int fd, const char *bytes, size_t count)
{
	while (count > 0) {
		ssize_t put = write(fd, bytes, count);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? errno : EIO;
		bytes += put;
		count -= (size_t)put;
	}
	return 0;
}

int file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	int error = write_all(fd, text, strlen(text));
	close(fd);
	return error;
}

static int write_in_place(const char *path, const void *bytes, size_t count)
{
	struct stat about;
	int fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno;
	int error = 0;
	if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) || about.st_nlink != 1)
		error = EINVAL;
	else if (pwrite(fd, bytes, count, 0) != (ssize_t)count)
		error = EIO;
	else if (about.st_size > (off_t)count && ftruncate(fd, (off_t)count) != 0)
		error = errno;
	close(fd);
	return error;
}

static int write_and_rename(const char *path, const void *bytes, size_t count)
{
	char draft[PATH_MAX];
	if ((size_t)snprintf(draft, sizeof draft, "%s.new", path) >= sizeof draft)
		return ENAMETOOLONG;
	// A user may have left a link there: O_EXCL and O_NOFOLLOW keep the write from going where it leads.
	unlink(draft);
	int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return errno;
	int error = write_all(fd, bytes, count);
	if (error == 0 && fchmod(fd, 0644) != 0)
		error = errno;
	close(fd);
	if (error == 0 && rename(draft, path) != 0)
		error = errno;
	if (error != 0)
		unlink(draft);
	return error;
}

int file_replace(const char *path, const void *bytes, size_t count)
{
	return write_in_place(path, bytes, count) == 0 ? 0 : write_and_rename(path, bytes, count);
}
