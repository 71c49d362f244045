/* The guest's memory in a QEMU, and the files that its pages come from (guest-memory.c). */
#ifndef GUEST_MEMORY_H
#define GUEST_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define PAGE_BYTES UINT64_C(4096)
#define RUNS_MAGIC "OFFRUNS1"
/* Of all layers together. Two mappings each at most; the kernel allows a process 65530 (vm.max_map_count). page-runs.ts has the same number. */
#define RUNS_MAX 16384

/* Neighbouring pages. */
struct run {
	uint32_t first_page;
	uint32_t pages;
};

#pragma GCC visibility push(hidden)

extern struct guest_memory {
	/* QEMU's own descriptor of the bake's memory; -1 until it has opened it. */
	int fd;
	/* Of the mapping; NULL until QEMU has mapped it. */
	int protection;
	char *start;
	size_t length;
	/* Returns the path to open instead of this one. NULL in every QEMU but a zygote. */
	const char *(*redirect)(const char *path);
} guest_memory;

/* QEMU must not run with half a memory: the message goes to its log and it ends. */
_Noreturn void fail_memory(const char *what);

/* Maps a list of runs. Ends QEMU if the file is no such list. */
const struct run *read_runs(int fd, uint64_t *count);

/* Gets a run of a layer, and the offset of its pages in their file. */
typedef void visitor(const struct run *run, int pages_fd, uint64_t offset);

/*
 * Calls the visitor for each run of a layer. The caller gets NULL, or a message that names the fault of the layer: its list cannot be read, a
 * run does not fit the memory, or the runs do not name all pages of the file. A faulty layer gets no visit at all.
 */
const char *visit_layer(int pages_fd, int runs_fd, visitor *visit, uint64_t *count);

/* Visits the runs of a layer, and closes both files. Returns how many runs they are. Ends QEMU if something is wrong with the layer. */
uint64_t each_run(int pages_fd, int runs_fd, visitor *visit);

const char *page_at(uint64_t page);

/* Maps pages of a file for reading; munmap() ends it. Ends QEMU if it cannot. */
const char *read_pages(uint64_t pages, int fd, uint64_t offset);

/* Maps pages of a file over the memory, privately. The offset is in bytes. */
void map_pages(uint64_t first_page, uint64_t pages, int fd, uint64_t offset);

/* Returns the path to open instead of this one (kept-memory.c). */
const char *keep_memory(const char *path);

#pragma GCC visibility pop

#endif
