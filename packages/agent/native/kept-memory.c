/*
 * Part of the preload object: QEMU keeps the memory that a capture has just written. It maps the pages from the capture's files, privately, in
 * the place of its own, so that the next capture need not write them again, and children share them.
 *
 * The agent asks for it while the guest's CPUs stand still: it lets QEMU open a path that cannot exist. QEMU opens that in its main thread, in
 * which also its devices write memory, and gets the file KEPT_PAGES of its working directory. Before that, each page that is as the file says is
 * mapped from there. All other pages stay as they are, so nothing can be lost.
 *
 * The path says how these pages are found. KEPT_PATH: each page is compared with the file. IMAGED_PATH: the file was copied from an image
 * (memory-image.c), while the guest went on. It would stand still for long if all its memory were compared. The agent sees which pages QEMU still
 * shares with the image, but only when nothing writes any more. So the main thread says in the pipe KEPT_ASKS that it waits, and gets a byte
 * for each page of the file from the pipe KEPT_SAME. If the agent ends, no more pages are mapped.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest-memory.h"

/* machine.ts has the same names. */
#define KEPT_PATH "/dev/null/kept-memory"
#define IMAGED_PATH "/dev/null/imaged-memory"
#define KEPT_PAGES "kept-pages"
#define KEPT_RUNS "kept-runs"
#define KEPT_ASKS "kept-asks"
#define KEPT_SAME "kept-same"
/* Of pages that are looked at together. */
#define PART_PAGES UINT64_C(4096)

/* The pipe KEPT_SAME; -1: pages are compared. */
static int same_fd = -1;

static void compare(char *is_same, uint64_t first, uint64_t pages, int fd, uint64_t offset)
{
	const char *file = mmap(NULL, pages * PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, (off_t)offset);

	if (file == MAP_FAILED)
		return;
	for (uint64_t i = 0; i < pages; i++)
		is_same[i] = memcmp(page_at(first + i), file + i * PAGE_BYTES, PAGE_BYTES) == 0;
	munmap((void *)file, pages * PAGE_BYTES);
}

static void hear(char *is_same, uint64_t pages)
{
	for (uint64_t heard = 0; heard < pages;) {
		ssize_t more = read(same_fd, is_same + heard, pages - heard);

		if (more > 0)
			heard += (uint64_t)more;
		else if (more == 0 || errno != EINTR)
			return;
	}
}

static void keep_part(uint64_t first, uint64_t pages, int fd, uint64_t offset)
{
	char is_same[PART_PAGES] = {0};

	if (same_fd < 0)
		compare(is_same, first, pages, fd, offset);
	else
		hear(is_same, pages);
	for (uint64_t from = 0; from < pages;) {
		uint64_t to = from;

		while (to < pages && is_same[to])
			to++;
		if (to > from)
			map_pages(first + from, to - from, fd, offset + from * PAGE_BYTES);
		from = to + 1;
	}
}

static void keep_run(const struct run *run, int fd, uint64_t offset)
{
	for (uint64_t done = 0; done < run->pages; done += PART_PAGES) {
		uint64_t rest = run->pages - done;

		keep_part(run->first_page + done, rest < PART_PAGES ? rest : PART_PAGES, fd, offset + done * PAGE_BYTES);
	}
}

static int open_kept(const char *name, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, name, flags | O_NOFOLLOW | O_CLOEXEC);
}

static void close_kept(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* The agent has both pipes open for reading and writing, so no open waits. */
static int ask_agent(void)
{
	int asks = open_kept(KEPT_ASKS, O_WRONLY | O_NONBLOCK);

	if (asks < 0)
		return 0;
	same_fd = open_kept(KEPT_SAME, O_RDONLY);
	(void)!write(asks, "?", 1);
	close(asks);
	return same_fd >= 0;
}

const char *keep_memory(const char *path)
{
	int is_imaged = strcmp(path, IMAGED_PATH) == 0;
	int pages, runs, is_kept;
	uint64_t count;

	if ((!is_imaged && strcmp(path, KEPT_PATH) != 0) || guest_memory.start == NULL)
		return path;
	pages = open_kept(KEPT_PAGES, O_RDONLY);
	runs = open_kept(KEPT_RUNS, O_RDONLY);
	is_kept = pages >= 0 && runs >= 0 && (!is_imaged || ask_agent()) && visit_layer(pages, runs, keep_run, &count) == NULL;
	close_kept(pages);
	close_kept(runs);
	close_kept(same_fd);
	same_fd = -1;
	return is_kept ? KEPT_PAGES : path;
}
