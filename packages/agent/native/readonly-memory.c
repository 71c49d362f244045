/*
 * Preload object for QEMU before 8.2, which opens the file of a memory backend read-write even for a private mapping. Snapshots are mapped by
 * many VMs, so none may hold a descriptor that could write one: the path in MEM_RO, compared as passed, is opened read-only here.
 * (From 8.2 on `readonly=on,rom=off` does it.) QEMU on Debian calls __open64_2; the other names are what other builds call.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);

static int open_or_readonly(const char *path, int flags, mode_t mode)
{
	const char *memory = getenv("MEM_RO");

	if (memory != NULL && strcmp(path, memory) == 0)
		flags = (flags & ~(O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC)) | O_RDONLY;
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static mode_t mode_argument(int flags, va_list arguments)
{
	return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

#define DEFINE_OPEN(name)                                                      \
	int name(const char *path, int flags, ...)                             \
	{                                                                      \
		va_list arguments;                                             \
		va_start(arguments, flags);                                    \
		mode_t mode = mode_argument(flags, arguments);                 \
		va_end(arguments);                                             \
		return open_or_readonly(path, flags, mode);                    \
	}

DEFINE_OPEN(open)
DEFINE_OPEN(open64)

int __open_2(const char *path, int flags)
{
	return open_or_readonly(path, flags, 0);
}

int __open64_2(const char *path, int flags)
{
	return open_or_readonly(path, flags, 0);
}
