#include "builtins/layer-file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "builtins/layer-source.h"
#include "builtins/tar-header.h"

enum {
	ZERO_BYTES = 4096,
	SEGMENTS_MAX = 65536,
	// The old GNU format: entries with an offset and a length, in the header and in the blocks after it.
	GNU_MAP_AT = 386, GNU_MAP_ENTRIES = 4,
	GNU_MORE_AT = 482,
	GNU_REAL_SIZE_AT = 483,
	GNU_NEXT_ENTRIES = 21,
	GNU_NEXT_MORE_AT = 504,
	GNU_NUMBER_BYTES = 12,
};

struct segment {
	uint64_t offset, bytes;
};

static struct {
	size_t count;
	struct segment *list;
	size_t room;
} map;

static int add_segment(int64_t offset, int64_t bytes)
{
	if (offset < 0 || bytes < 0 || map.count == SEGMENTS_MAX)
		return EBADMSG;
	if (map.count == map.room) {
		size_t room = map.room == 0 ? 256 : map.room * 2;
		struct segment *list = realloc(map.list, room * sizeof *list);
		if (list == NULL)
			return ENOMEM;
		map.list = list;
		map.room = room;
	}
	map.list[map.count++] = (struct segment){(uint64_t)offset, (uint64_t)bytes};
	return 0;
}

static int add_gnu_entries(const uint8_t *entries, size_t count)
{
	for (size_t i = 0; i < count; i++, entries += 2 * GNU_NUMBER_BYTES) {
		int64_t offset, bytes;
		if (entries[0] == 0)
			continue;
		if (!tar_parse_number(entries, GNU_NUMBER_BYTES, &offset) ||
		    !tar_parse_number(entries + GNU_NUMBER_BYTES, GNU_NUMBER_BYTES, &bytes))
			return EBADMSG;
		int error = add_segment(offset, bytes);
		if (error != 0)
			return error;
	}
	return 0;
}

// The archived size does not count the blocks that continue the map.
static int read_gnu_map(const uint8_t *header, uint64_t *real_bytes)
{
	int64_t real;
	if (!tar_parse_number(header + GNU_REAL_SIZE_AT, GNU_NUMBER_BYTES, &real) || real < 0)
		return EBADMSG;
	*real_bytes = (uint64_t)real;
	int error = add_gnu_entries(header + GNU_MAP_AT, GNU_MAP_ENTRIES);
	uint8_t next[TAR_BLOCK_BYTES];
	bool has_more = header[GNU_MORE_AT] != 0;
	while (error == 0 && has_more) {
		error = source_take(next, sizeof next);
		if (error == 0)
			error = add_gnu_entries(next, GNU_NEXT_ENTRIES);
		has_more = next[GNU_NEXT_MORE_AT] != 0;
	}
	return error;
}

// Reads a line with a decimal number and adds its bytes to `*used`.
static int read_line(uint64_t *used, int64_t *value)
{
	char digits[24];
	size_t count = 0;
	for (;; count++) {
		uint8_t byte;
		if (count == sizeof digits || source_take(&byte, 1) != 0)
			return EBADMSG;
		(*used)++;
		if (byte == '\n')
			break;
		digits[count] = (char)byte;
	}
	return tar_decimal(digits, count, value) ? 0 : EBADMSG;
}

static int read_pax_map(uint64_t archived_bytes, uint64_t *map_bytes)
{
	int64_t entries, offset, bytes;
	uint64_t used = 0;
	int error = read_line(&used, &entries);
	for (int64_t i = 0; error == 0 && i < entries; i++) {
		if ((error = read_line(&used, &offset)) == 0 && (error = read_line(&used, &bytes)) == 0)
			error = add_segment(offset, bytes);
		if (used > archived_bytes)
			return EBADMSG;
	}
	uint64_t padding = -used % TAR_BLOCK_BYTES;
	*map_bytes = used + padding;
	return error != 0 ? error : source_skip(padding);
}

static bool is_zero(const uint8_t *bytes, size_t count)
{
	static const uint8_t zeros[ZERO_BYTES];
	return bytes[0] == 0 && bytes[count - 1] == 0 && memcmp(bytes, zeros, count) == 0;
}

static int write_at(int fd, const uint8_t *bytes, size_t count, uint64_t at)
{
	while (count > 0) {
		ssize_t put = pwrite(fd, bytes, count, (off_t)at);
		if (put < 0 && errno != EINTR)
			return errno;
		size_t written = put > 0 ? (size_t)put : 0;
		bytes += written;
		at += written;
		count -= written;
	}
	return 0;
}

// Skips blocks of zeros, and writes all bytes between them with one call.
static int write_holed(int fd, const uint8_t *bytes, size_t count, uint64_t at)
{
	size_t from = 0, to = 0;
	while (to < count) {
		size_t block = ZERO_BYTES - (size_t)((at + to) % ZERO_BYTES);
		block = block < count - to ? block : count - to;
		bool is_hole = is_zero(bytes + to, block);
		int error = is_hole ? write_at(fd, bytes + from, to - from, at + from) : 0;
		if (error != 0)
			return error;
		to += block;
		from = is_hole ? to : from;
	}
	return write_at(fd, bytes + from, to - from, at + from);
}

static int fill_segment(int fd, struct segment segment)
{
	while (segment.bytes > 0) {
		size_t count;
		const uint8_t *bytes = source_next(segment.bytes, &count);
		if (bytes == NULL)
			return EBADMSG;
		int error = write_holed(fd, bytes, count, segment.offset);
		if (error != 0)
			return error;
		segment.offset += count;
		segment.bytes -= count;
	}
	return 0;
}

// Checks that segments are in order, lie within the file, and need no more bytes than the archive has.
static bool is_map_sound(uint64_t content_bytes, uint64_t real_bytes)
{
	uint64_t end = 0, sum = 0;
	for (size_t i = 0; i < map.count; i++) {
		struct segment segment = map.list[i];
		if (segment.offset < end || segment.bytes > INT64_MAX - segment.offset)
			return false;
		end = segment.offset + segment.bytes;
		sum += segment.bytes;
	}
	return end <= real_bytes && sum <= content_bytes && real_bytes <= INT64_MAX;
}

int layer_fill_file(int fd, uint64_t archived_bytes, const struct layer_hole_map *holes)
{
	uint64_t real_bytes = archived_bytes, map_bytes = 0;
	int error = 0;
	map.count = 0;
	if (holes == NULL) {
		error = add_segment(0, (int64_t)archived_bytes);
	} else if (holes->gnu_block != NULL) {
		error = read_gnu_map(holes->gnu_block, &real_bytes);
	} else {
		real_bytes = holes->real_bytes;
		error = read_pax_map(archived_bytes, &map_bytes);
	}
	if (error == 0 && (map_bytes > archived_bytes || !is_map_sound(archived_bytes - map_bytes, real_bytes)))
		error = EBADMSG;
	uint64_t left = archived_bytes - map_bytes;
	for (size_t i = 0; error == 0 && i < map.count; i++) {
		error = fill_segment(fd, map.list[i]);
		left -= map.list[i].bytes;
	}
	if (error == 0 && real_bytes > 0 && ftruncate(fd, (off_t)real_bytes) != 0)
		error = errno;
	return error != 0 ? error : source_skip(left);
}
