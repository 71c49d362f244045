/*
 * Part of the preload object: QEMU keeps the memory that a capture has just written. It maps the pages from the capture's files, privately, in
 * the place of its own, so that the next capture need not write them again, and children share them.
 *
 * The agent asks for it while the guest's CPUs stand still: it lets QEMU open KEPT_PATH. QEMU opens that in its main thread, in which also its
 * devices write memory, and gets the file KEPT_PAGES of its working directory. Before that, each page that is as the file says is mapped from
 * there. All other pages stay as they are, so nothing can be lost.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest-memory.h"

/* machine.ts has the same names. */
#define KEPT_PATH "/dev/null/kept-memory"
#define KEPT_PAGES "kept-pages"
#define KEPT_RUNS "kept-runs"

static void keep_run(const struct run *run, int fd, uint64_t offset)
{
	const uint64_t first = run->first_page, end = first + run->pages;
	const char *file = mmap(NULL, run->pages * PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, (off_t)offset);

	if (file == MAP_FAILED)
		return;
	for (uint64_t page = first; page < end;) {
		uint64_t next = page;

		while (next < end && memcmp(page_at(next), file + (next - first) * PAGE_BYTES, PAGE_BYTES) == 0)
			next++;
		if (next > page)
			map_pages(page, next - page, fd, offset + (page - first) * PAGE_BYTES);
		page = next + 1;
	}
	munmap((void *)file, run->pages * PAGE_BYTES);
}

static int open_kept(const char *name)
{
	return (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

const char *keep_memory(const char *path)
{
	int pages, runs, is_kept;
	uint64_t count;

	if (strcmp(path, KEPT_PATH) != 0 || guest_memory.start == NULL)
		return path;
	pages = open_kept(KEPT_PAGES);
	runs = open_kept(KEPT_RUNS);
	is_kept = pages >= 0 && runs >= 0 && visit_layer(pages, runs, keep_run, &count) == NULL;
	if (pages >= 0)
		close(pages);
	if (runs >= 0)
		close(runs);
	return is_kept ? KEPT_PAGES : path;
}
