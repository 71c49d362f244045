#include "builtins/answer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"

enum { ENTRY_BYTES = 36, DETAILED_ENTRY_BYTES = 42 };

static uint8_t waiting[64 * 1024];
static size_t waiting_bytes;

static void write_all(const uint8_t *bytes, size_t count)
{
	while (count > 0) {
		ssize_t put = write(STDOUT_FILENO, bytes, count);
		if (put < 0 && errno != EINTR)
			_exit(1);
		if (put > 0) {
			bytes += put;
			count -= (size_t)put;
		}
	}
}

void answer_flush(void)
{
	write_all(waiting, waiting_bytes);
	waiting_bytes = 0;
}

void answer_bytes(const void *bytes, size_t count)
{
	if (count > sizeof waiting - waiting_bytes)
		answer_flush();
	if (count > sizeof waiting) {
		write_all(bytes, count);
		return;
	}
	memcpy(waiting + waiting_bytes, bytes, count);
	waiting_bytes += count;
}

void answer_u64(uint64_t value)
{
	uint8_t bytes[8];
	write_u64(bytes, value);
	answer_bytes(bytes, sizeof bytes);
}

static void write_entry(uint8_t *entry, const struct stat *about, uint16_t flags, size_t name_bytes, size_t target_bytes)
{
	write_u16(entry, (uint16_t)about->st_mode);
	write_u16(entry + 2, flags);
	write_u32(entry + 4, about->st_uid);
	write_u32(entry + 8, about->st_gid);
	write_u64(entry + 12, (uint64_t)about->st_size);
	write_u64(entry + 20, (uint64_t)about->st_mtim.tv_sec);
	write_u32(entry + 28, (uint32_t)about->st_mtim.tv_nsec);
	write_u16(entry + 32, (uint16_t)name_bytes);
	write_u16(entry + 34, (uint16_t)target_bytes);
}

void answer_entry(const struct stat *about, uint16_t flags, const char *name, const char *target)
{
	uint8_t entry[ENTRY_BYTES];
	size_t name_bytes = strlen(name), target_bytes = strlen(target);
	write_entry(entry, about, flags, name_bytes, target_bytes);
	answer_bytes(entry, sizeof entry);
	answer_bytes(name, name_bytes);
	answer_bytes(target, target_bytes);
}

void answer_detailed_entry(const struct stat *about, const char *name, const struct entry_details *details)
{
	uint8_t entry[DETAILED_ENTRY_BYTES];
	const char *user = details->user == NULL ? "" : details->user;
	const char *group = details->group == NULL ? "" : details->group;
	size_t name_bytes = strlen(name), target_bytes = strlen(details->target);
	size_t target_path_bytes = strlen(details->target_path);
	write_entry(entry, about, 0, name_bytes, target_bytes);
	write_u16(entry + 36, (uint16_t)details->target_mode);
	write_u16(entry + 38, (uint16_t)target_path_bytes);
	entry[40] = (uint8_t)strlen(user);
	entry[41] = (uint8_t)strlen(group);
	answer_bytes(entry, sizeof entry);
	answer_bytes(name, name_bytes);
	answer_bytes(details->target, target_bytes);
	answer_bytes(details->target_path, target_path_bytes);
	answer_bytes(user, entry[40]);
	answer_bytes(group, entry[41]);
}
