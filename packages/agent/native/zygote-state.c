/*
 * Part of the preload object: a copy of a zygote continues another VM (docs/adr/0065-copies-continue.md).
 *
 * The copy has the zygote's memory, devices and translated code. The agent lets it load another VM's device state from CONTINUED_PATH. QEMU
 * opens that in its main thread, while no CPU runs, and gets the file CONTINUED_STATE of its working directory. Before that, this file makes
 * the memory that of the other VM: each page that differs is mapped from the layers of the checkpoint, and QEMU is told, as if a device had
 * written it, so it drops the code that it has translated from that page, and keeps all other code.
 *
 * The functions that it calls are those which QEMU exports to its modules.
 */
#define _GNU_SOURCE
#include "zygote-process.h"

#ifdef __x86_64__

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest-memory.h"

/* machine.ts has the same names. */
#define CONTINUED_PATH "/dev/null/continued-state"
#define CONTINUED_STATE "continued-state"
/* A mapping takes longer than the comparison of pages: so few equal pages between different ones are mapped with them. */
#define MAX_GAP_PAGES 16
/* CPU_INTERRUPT_POLL (target/i386/cpu.h): the CPU asks its interrupt controller whether an interrupt waits. */
#define INTERRUPT_POLL 0x10
/* hw/i386/microvm.c: a larger guest has a gap for devices after so much of its memory, which goes on at the other address. */
#define LOW_BYTES 0xc0000000ULL
#define HIGH_ADDRESS 0x100000000ULL
#define FIRMWARE_END 0x100000
/* YANK_INSTANCE_TYPE_MIGRATION (qapi/yank.json) */
#define YANK_MIGRATION 2

struct yank_instance {
	int type;
	char *name;
};

/* Functions of QEMU: hw/core/cpu.h, qemu/yank.h, exec/cpu-common.h. */
static struct {
	void *(*get_cpu)(int index);
	void (*reset)(void *cpu);
	void (*interrupt)(void *cpu, int mask);
	_Bool (*register_yank)(const struct yank_instance *instance, void **error);
	void *(*map)(uint64_t address, uint64_t *length, _Bool is_write);
	void (*unmap)(void *buffer, uint64_t length, _Bool is_write, uint64_t accessed);
} qemu;

/* One byte a page: whether it is already as the checkpoint has it, and whether the zygote has used it. QEMU has translated code of no other page. */
static char *is_done, *is_used;

/* `at` is an offset in the memory's file. */
static void tell_qemu(uint64_t first_page, uint64_t pages)
{
	uint64_t at = first_page * PAGE_BYTES, end = at + pages * PAGE_BYTES;

	while (at < end) {
		const int is_low = at < LOW_BYTES;
		uint64_t length = (is_low && end > LOW_BYTES ? LOW_BYTES : end) - at;
		void *mapped = qemu.map(is_low ? at : at - LOW_BYTES + HIGH_ADDRESS, &length, 1);
		const int is_memory = mapped == guest_memory.start + at;

		/* Firmware covers some pages, which hold no code that a CPU could run. */
		if (mapped == NULL || length == 0 || (!is_memory && at >= FIRMWARE_END))
			fail_memory("QEMU does not know a page of its guest");
		qemu.unmap(mapped, length, 1, is_memory ? length : 0);
		at += length;
	}
}

static void change_pages(uint64_t first_page, uint64_t pages, int fd, uint64_t offset)
{
	map_pages(first_page, pages, fd, offset);
	tell_qemu(first_page, pages);
}

/* Makes pages that follow each other those of the file, from `file` on, which is that part of it in memory. Leaves those that are it already. */
static void take_used(uint64_t first, uint64_t end, int fd, uint64_t offset, const char *file)
{
	uint64_t from = end, to = end;

	for (uint64_t page = first; page < end; page++) {
		if (memcmp(page_at(page), file + (page - first) * PAGE_BYTES, PAGE_BYTES) == 0)
			continue;
		if (from < end && page - to > MAX_GAP_PAGES) {
			change_pages(from, to - from, fd, offset + (from - first) * PAGE_BYTES);
			from = end;
		}
		if (from == end)
			from = page;
		to = page + 1;
	}
	if (from < end)
		change_pages(from, to - from, fd, offset + (from - first) * PAGE_BYTES);
}

/* A page that the zygote has not used is not read: it would take longer than what it could save. */
static void take_run(const struct run *run, int fd, uint64_t offset)
{
	uint64_t first = run->first_page, end = first + run->pages;
	const char *file = read_pages(run->pages, fd, offset);

	for (uint64_t page = first; page < end;) {
		uint64_t next = page + 1, at = (page - first) * PAGE_BYTES;

		while (next < end && is_done[next] == is_done[page] && is_used[next] == is_used[page])
			next++;
		if (!is_done[page] && is_used[page])
			take_used(page, next, fd, offset + at, file + at);
		else if (!is_done[page])
			change_pages(page, next - page, fd, offset + at);
		page = next;
	}
	memset(is_done + first, 1, run->pages);
	munmap((void *)file, run->pages * PAGE_BYTES);
}

/* Visits the runs of a list that belongs to no pages, and closes it. */
static void each_listed(int runs_fd, void (*visit)(const struct run *run))
{
	uint64_t count;
	const struct run *runs = read_runs(runs_fd, &count);

	for (uint64_t i = 0; i < count; i++) {
		if ((runs[i].first_page + (uint64_t)runs[i].pages) * PAGE_BYTES > guest_memory.length)
			fail_memory("what the zygote has used does not fit the memory");
		visit(&runs[i]);
	}
	close(runs_fd);
}

static void note_used(const struct run *run)
{
	memset(is_used + run->first_page, 1, run->pages);
}

/* The file of the bake's memory has every page at its own place. */
static void take_baked(const struct run *run)
{
	take_run(run, guest_memory.fd, run->first_page * PAGE_BYTES);
}

static char *byte_for_each_page(void)
{
	char *bytes = mmap(NULL, guest_memory.length / PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (bytes == MAP_FAILED)
		fail_memory("no memory");
	return bytes;
}

static void take_memory(void)
{
	const int written_fd = zygote.request.memory, used_fd = written_fd + 1, first_fd = used_fd + 1;

	is_done = byte_for_each_page();
	is_used = byte_for_each_page();
	each_listed(used_fd, note_used);
	for (int i = zygote.request.layer_count - 1; i >= 0; i--)
		each_run(first_fd + 2 * i, first_fd + 2 * i + 1, take_run);
	/* What only the zygote has written is as in the bake again. */
	each_listed(written_fd, take_baked);
	munmap(is_done, guest_memory.length / PAGE_BYTES);
	munmap(is_used, guest_memory.length / PAGE_BYTES);
}

/*
 * As after power-on, and the interrupt controllers are asked. The state of a CPU that is so, too, need not be loaded, which would let QEMU drop
 * all translated code (plain-cpus.ts).
 */
static void reset_cpus(void)
{
	void *cpu;

	for (int i = 0; (cpu = qemu.get_cpu(i)) != NULL; i++) {
		qemu.reset(cpu);
		qemu.interrupt(cpu, INTERRUPT_POLL);
	}
}

static const char *begin_state(const char *path)
{
	const struct yank_instance migration = {.type = YANK_MIGRATION};

	if (strcmp(path, CONTINUED_PATH) != 0 || zygote.request.memory < 0)
		return path;
	/* A load ends this registration, as it does that of a migration. */
	if (!qemu.register_yank(&migration, NULL))
		fail_memory("the load of a state cannot be registered");
	take_memory();
	reset_cpus();
	/* Once. */
	zygote.request.memory = -1;
	return CONTINUED_STATE;
}

#define FIND(function, name) ((function = (__typeof__(function))dlsym(RTLD_DEFAULT, name)) != NULL)

void expect_state(void)
{
	if (FIND(qemu.get_cpu, "qemu_get_cpu") && FIND(qemu.reset, "cpu_reset") && FIND(qemu.interrupt, "cpu_interrupt") &&
	    FIND(qemu.register_yank, "yank_register_instance") && FIND(qemu.map, "cpu_physical_memory_map") &&
	    FIND(qemu.unmap, "cpu_physical_memory_unmap"))
		guest_memory.redirect = begin_state;
}

int can_continue(void)
{
	return guest_memory.redirect != NULL && guest_memory.start != NULL;
}

#endif
