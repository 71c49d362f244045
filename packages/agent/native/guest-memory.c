/*
 * Preload object for QEMU: gives it its guest's memory from files that it inherits as descriptors.
 *
 * A memory file is mapped by many VMs, so none may hold a descriptor that could write it, yet QEMU before 8.2 opens the file of a memory backend
 * read-write even for a private mapping. QEMU is therefore told a path that can never exist (GUEST_MEMORY_PATH), so that it ends where this object
 * is missing; here that path stands for the read-only descriptor GUEST_MEMORY_FD.
 *
 * A restore from a checkpoint names GUEST_LAYERS pairs of descriptors more, the first of which is GUEST_LAYERS_FD: of each pair the first holds pages
 * that differ from what lies below, one after the other, and the second says which pages of the guest they are. As soon as QEMU has mapped its memory,
 * the runs of each layer are mapped over it at their places, the lowest layer first, privately too: children share them.
 *
 * A restore that begins while its checkpoint is still being made names a third, GUEST_STATE_FD: the socket that QEMU gets its device state from. Nothing
 * comes there before the pages are whole, and nothing of the state may be read over other pages: they are laid when the first of it arrives.
 *
 * QEMU discards a page (balloon, free page reporting) by a hole in the file and MADV_DONTNEED. The hole would be refused on a read-only descriptor and
 * is not wanted: to the VM the page is again what the files say, which is as good as any for a page that the guest has given up.
 *
 * QEMU on Debian calls __open64_2, mmap64 and fallocate64; the other names are what other builds call.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest-memory.h"

/* choose-bases.ts makes fewer. */
#define LAYERS_MAX 16

struct runs_head {
	char magic[8];
	uint64_t count;
};

struct guest_memory guest_memory = {.fd = -1};

/* Pages that are still to come, and where the word that they are whole arrives. */
static struct {
	int are_missing, first_fd, layers, state_fd;
} awaited = {.state_fd = -1};

_Noreturn void fail_memory(const char *what)
{
	char message[160];
	int length = snprintf(message, sizeof message, "guest memory: %s\n", what);

	if (length > 0)
		(void)!write(STDERR_FILENO, message, (size_t)length);
	abort();
}

/* The descriptor that the environment names; -1 where it names none. */
static int inherited(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long fd;

	if (text == NULL)
		return -1;
	fd = strtol(text, &end, 10);
	if (*text == '\0' || *end != '\0' || fd < 3 || fd > 65535 || fcntl((int)fd, F_GETFD) < 0)
		fail_memory("an inherited descriptor is missing");
	return (int)fd;
}

static void *map(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
	return (void *)syscall(SYS_mmap, at, length, protection, flags, fd, offset);
}

static uint64_t size_of(int fd)
{
	struct stat file;

	if (fstat(fd, &file) != 0)
		fail_memory("a file cannot be examined");
	return (uint64_t)file.st_size;
}

/* Maps the list of runs in the file. The caller gets NULL, or a message that says why the file is no such list. */
static const char *open_runs(int fd, const struct run **runs, uint64_t *count)
{
	uint64_t bytes = size_of(fd);
	const struct runs_head *head;

	if (bytes < sizeof *head || bytes > sizeof *head + RUNS_MAX * sizeof(struct run))
		return "the list of runs is not one";
	head = map(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (head == MAP_FAILED)
		return "the list of runs cannot be read";
	*count = head->count;
	*runs = (const struct run *)(head + 1);
	if (memcmp(head->magic, RUNS_MAGIC, sizeof head->magic) == 0 && head->count <= RUNS_MAX &&
	    bytes == sizeof *head + head->count * sizeof(struct run))
		return NULL;
	munmap((void *)head, bytes);
	return "the list of runs is not one";
}

static void close_runs(const struct run *runs, uint64_t count)
{
	munmap((struct runs_head *)runs - 1, sizeof(struct runs_head) + count * sizeof *runs);
}

const struct run *read_runs(int fd, uint64_t *count)
{
	const struct run *runs;
	const char *wrong = open_runs(fd, &runs, count);

	if (wrong != NULL)
		fail_memory(wrong);
	return runs;
}

/* Compares the runs with the memory and the file of pages. The caller gets NULL, or a message that names the fault. */
static const char *check_runs(const struct run *runs, uint64_t count, int pages_fd)
{
	uint64_t pages_bytes = size_of(pages_fd), offset = 0, last_end = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t first = runs[i].first_page, end = first + runs[i].pages;
		uint64_t bytes = runs[i].pages * PAGE_BYTES;

		if (bytes == 0 || first < last_end || end * PAGE_BYTES > guest_memory.length || offset + bytes > pages_bytes)
			return "the runs do not fit the memory";
		offset += bytes;
		last_end = end;
	}
	return offset == pages_bytes ? NULL : "the runs are not all of the pages";
}

const char *visit_layer(int pages_fd, int runs_fd, visitor *visit, uint64_t *count)
{
	const struct run *runs;
	const char *wrong = open_runs(runs_fd, &runs, count);
	uint64_t offset = 0;

	if (wrong != NULL)
		return wrong;
	wrong = check_runs(runs, *count, pages_fd);
	for (uint64_t i = 0; wrong == NULL && i < *count; i++) {
		visit(&runs[i], pages_fd, offset);
		offset += runs[i].pages * PAGE_BYTES;
	}
	close_runs(runs, *count);
	return wrong;
}

uint64_t each_run(int pages_fd, int runs_fd, visitor *visit)
{
	uint64_t count;
	const char *wrong = visit_layer(pages_fd, runs_fd, visit, &count);

	if (wrong != NULL)
		fail_memory(wrong);
	close(pages_fd);
	close(runs_fd);
	return count;
}

const char *page_at(uint64_t page)
{
	return guest_memory.start + page * PAGE_BYTES;
}

const char *read_pages(uint64_t pages, int fd, uint64_t offset)
{
	const char *file = map(NULL, pages * PAGE_BYTES, PROT_READ, MAP_PRIVATE, fd, (off_t)offset);

	if (file == MAP_FAILED)
		fail_memory("pages cannot be read");
	return file;
}

void map_pages(uint64_t first_page, uint64_t pages, int fd, uint64_t offset)
{
	if (map(guest_memory.start + first_page * PAGE_BYTES, pages * PAGE_BYTES, guest_memory.protection,
		MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, (off_t)offset) == MAP_FAILED)
		fail_memory("pages cannot be mapped");
}

static void map_run(const struct run *run, int pages_fd, uint64_t offset)
{
	map_pages(run->first_page, run->pages, pages_fd, offset);
}

static void lay_layers(int first_fd, int layers)
{
	uint64_t runs = 0;

	for (int i = 0; i < layers; i++)
		runs += each_run(first_fd + 2 * i, first_fd + 2 * i + 1, map_run);
	if (runs > RUNS_MAX)
		fail_memory("too many runs");
}

/* How many layers the environment names; 0 where it names none. */
static int count_layers(void)
{
	const char *text = getenv("GUEST_LAYERS");
	char *end;
	long layers;

	if (text == NULL)
		return 0;
	layers = strtol(text, &end, 10);
	if (*text == '\0' || *end != '\0' || layers < 1 || layers > LAYERS_MAX)
		fail_memory("the number of layers is not one");
	return (int)layers;
}

static void *map_memory(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
	void *memory = map(at, length, protection, flags, fd, offset);
	int first_fd, layers;

	if (memory == MAP_FAILED || fd < 0 || fd != guest_memory.fd)
		return memory;
	if ((flags & MAP_PRIVATE) == 0 || offset != 0)
		fail_memory("not mapped as expected");
	guest_memory.start = memory;
	guest_memory.length = length;
	guest_memory.protection = protection;
	first_fd = inherited("GUEST_LAYERS_FD");
	layers = count_layers();
	if ((first_fd < 0) != (layers == 0))
		fail_memory("pages or runs are missing");
	if (layers == 0)
		return memory;
	awaited.state_fd = inherited("GUEST_STATE_FD");
	if (awaited.state_fd < 0) {
		lay_layers(first_fd, layers);
		return memory;
	}
	awaited.first_fd = first_fd;
	awaited.layers = layers;
	awaited.are_missing = 1;
	return memory;
}

/* What QEMU's channels over a socket read with (io/channel-socket.c). */
ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	ssize_t got = syscall(SYS_recvmsg, fd, message, flags);

	if (got > 0 && awaited.are_missing && fd == awaited.state_fd) {
		lay_layers(awaited.first_fd, awaited.layers);
		awaited.are_missing = 0;
	}
	return got;
}

void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
	return map_memory(at, length, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t length, int protection, int flags, int fd, off64_t offset)
{
	return map_memory(at, length, protection, flags, fd, offset);
}

static int punch_or_fallocate(int fd, int mode, off_t offset, off_t length)
{
	if (fd >= 0 && fd == guest_memory.fd && (mode & FALLOC_FL_PUNCH_HOLE) != 0)
		return 0;
	return (int)syscall(SYS_fallocate, fd, mode, offset, length);
}

int fallocate(int fd, int mode, off_t offset, off_t length)
{
	return punch_or_fallocate(fd, mode, offset, length);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t length)
{
	return punch_or_fallocate(fd, mode, offset, length);
}

static int inherit_memory(void)
{
	int fd;

	if (guest_memory.fd >= 0)
		fail_memory("opened twice");
	fd = inherited("GUEST_MEMORY_FD");
	if (fd < 0)
		fail_memory("the memory file is missing");
	guest_memory.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (guest_memory.fd < 0)
		fail_memory("the memory file cannot be opened");
	close(fd);
	return guest_memory.fd;
}

static int open_or_inherit(const char *path, int flags, mode_t mode)
{
	const char *memory = getenv("GUEST_MEMORY_PATH");

	if (memory != NULL && strcmp(path, memory) == 0)
		return inherit_memory();
	path = keep_memory(path);
	if (guest_memory.redirect != NULL)
		path = guest_memory.redirect(path);
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
		return open_or_inherit(path, flags, mode);                     \
	}

DEFINE_OPEN(open)
DEFINE_OPEN(open64)

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);

int __open_2(const char *path, int flags)
{
	return open_or_inherit(path, flags, 0);
}

int __open64_2(const char *path, int flags)
{
	return open_or_inherit(path, flags, 0);
}
