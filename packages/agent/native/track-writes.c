/*
 * track-writes PID START PAGES: which pages of another process's memory have been written, again and again, while it runs.
 *
 * For each byte of standard input it answers with what was written since the answer before (the first time: with every page that is the process's own), as
 * 32-bit numbers: how many neighbourhoods, then the first page and the length of each, in ascending order. From the answer on those pages are watched again.
 * When standard input ends, nothing is watched any more. JavaScript has no ioctl.
 *
 * The kernel watches by write protection that it takes off by itself (UFFD_FEATURE_WP_ASYNC, Linux 6.7): nobody waits for us. The process has made the
 * userfaultfd for it (guest-memory.c), because one watches the memory of who made it; we borrow that. Where there is none, or the kernel is older, it ends with 1.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES UINT64_C(4096)
/* Neighbourhoods that are asked for at once. */
#define AT_ONCE 16384

/* linux/fs.h and linux/userfaultfd.h of Linux 6.7; system headers may be older. */
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif
#define IS_WRITTEN (1 << 1)
#define IS_FILE (1 << 2)
#define IS_PRESENT (1 << 3)
#define IS_SWAPPED (1 << 4)
#define PROTECT_MATCHING (1 << 0)
#define ONLY_WATCHED (1 << 1)

struct region {
	uint64_t start, end, categories;
};

struct scan {
	uint64_t size, flags, start, end, walk_end, regions, regions_length, max_pages;
	uint64_t inverted, mask, any_of, wanted;
};

#define PAGEMAP_SCAN _IOWR('f', 16, struct scan)

struct run {
	uint32_t first_page, pages;
};

static struct region regions[AT_ONCE];

static _Noreturn void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* The number of the process's own userfaultfd. */
static int find_watch(const char *pid)
{
	char path[64], target[64];
	snprintf(path, sizeof path, "/proc/%s/fd", pid);
	DIR *folder = opendir(path);
	struct dirent *entry;

	if (folder == NULL)
		fail(path);
	while ((entry = readdir(folder)) != NULL) {
		ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);

		target[length < 0 ? 0 : length] = '\0';
		if (strcmp(target, "anon_inode:[userfaultfd]") != 0)
			continue;
		int number = atoi(entry->d_name);

		closedir(folder);
		return number;
	}
	fputs("the process has no userfaultfd\n", stderr);
	exit(1);
}

static int borrow(const char *pid)
{
	int process = (int)syscall(SYS_pidfd_open, atoi(pid), 0);

	if (process < 0)
		fail("pidfd_open");
	int watch = (int)syscall(SYS_pidfd_getfd, process, find_watch(pid), 0);

	if (watch < 0)
		fail("pidfd_getfd");
	return watch;
}

static void begin(int watch, struct uffdio_range range)
{
	struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_WP_ASYNC};
	struct uffdio_register registered = {.range = range, .mode = UFFDIO_REGISTER_MODE_WP};

	/* Who borrowed it before has said this already; where it was not understood then, the next is refused. */
	(void)ioctl(watch, UFFDIO_API, &api);
	/* And may have been killed: what it watched has not been written, for all we know. */
	(void)ioctl(watch, UFFDIO_UNREGISTER, &range);
	if (ioctl(watch, UFFDIO_REGISTER, &registered) != 0)
		fail("UFFDIO_REGISTER");
}

/* Joins neighbours that two answers of the kernel have torn. @returns how many there are by now */
static size_t add_runs(struct run **runs, size_t count, size_t found, uint64_t start)
{
	*runs = realloc(*runs, (count + found) * sizeof **runs + 1);
	if (*runs == NULL)
		fail("memory");
	for (size_t i = 0; i < found; i++) {
		uint32_t first = (uint32_t)((regions[i].start - start) / PAGE_BYTES);
		uint32_t pages = (uint32_t)((regions[i].end - regions[i].start) / PAGE_BYTES);
		struct run *last = count > 0 ? *runs + count - 1 : NULL;

		if (last != NULL && last->first_page + last->pages == first)
			last->pages += pages;
		else
			(*runs)[count++] = (struct run){first, pages};
	}
	return count;
}

static void say(const void *bytes, size_t length)
{
	for (const char *at = bytes; length > 0;) {
		ssize_t written = write(STDOUT_FILENO, at, length);

		if (written <= 0)
			fail("answer");
		at += written;
		length -= (size_t)written;
	}
}

/* A page of a file is written when it is the process's own copy. */
static void answer(int pagemap, struct uffdio_range range)
{
	struct run *runs = NULL;
	size_t count = 0;
	struct scan scan = {
		.size = sizeof scan,
		.flags = PROTECT_MATCHING | ONLY_WATCHED,
		.start = range.start,
		.end = range.start + range.len,
		.regions = (uintptr_t)regions,
		.regions_length = AT_ONCE,
		.inverted = IS_FILE,
		.mask = IS_WRITTEN | IS_FILE,
		.any_of = IS_PRESENT | IS_SWAPPED,
		.wanted = IS_WRITTEN,
	};

	while (scan.start < scan.end) {
		int found = ioctl(pagemap, PAGEMAP_SCAN, &scan);

		if (found < 0)
			fail("PAGEMAP_SCAN");
		count = add_runs(&runs, count, (size_t)found, range.start);
		scan.start = scan.walk_end;
	}
	uint32_t length = (uint32_t)count;

	say(&length, sizeof length);
	say(runs, count * sizeof *runs);
	free(runs);
}

int main(int argument_count, char **arguments)
{
	if (argument_count != 4)
		return 2;
	const char *pid = arguments[1];
	struct uffdio_range range = {
		.start = strtoull(arguments[2], NULL, 10),
		.len = strtoull(arguments[3], NULL, 10) * PAGE_BYTES,
	};
	char path[64], byte;

	snprintf(path, sizeof path, "/proc/%s/pagemap", pid);
	int pagemap = open(path, O_RDONLY | O_CLOEXEC);

	if (pagemap < 0)
		fail(path);
	int watch = borrow(pid);

	begin(watch, range);
	while (read(STDIN_FILENO, &byte, 1) == 1)
		answer(pagemap, range);
	/* Fails where the process has ended. */
	(void)ioctl(watch, UFFDIO_UNREGISTER, &range);
	return 0;
}
