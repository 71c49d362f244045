#include "output-log.h"

#include <stdlib.h>
#include <string.h>

#include "bytes.h"

enum { HEADER_BYTES = 4, RECORD_MAX_BYTES = 16384 };
static const uint32_t OUTPUT_BIT = 1U << 31;

bool output_log_open(struct output_log *log, size_t ring_bytes)
{
	*log = (struct output_log){.ring = malloc(ring_bytes), .ring_bytes = ring_bytes};
	return log->ring != NULL;
}

void output_log_close(struct output_log *log)
{
	free(log->ring);
	log->ring = NULL;
}

static void put(struct output_log *log, uint64_t position, const uint8_t *bytes, size_t count)
{
	size_t at = (size_t)(position % log->ring_bytes);
	size_t first = count < log->ring_bytes - at ? count : log->ring_bytes - at;
	memcpy(log->ring + at, bytes, first);
	memcpy(log->ring, bytes + first, count - first);
}

static void get(const struct output_log *log, uint64_t position, uint8_t *to, size_t count)
{
	size_t at = (size_t)(position % log->ring_bytes);
	size_t first = count < log->ring_bytes - at ? count : log->ring_bytes - at;
	memcpy(to, log->ring + at, first);
	memcpy(to + first, log->ring, count - first);
}

static void put_header(struct output_log *log, uint64_t position, int output, size_t record_bytes)
{
	uint8_t header[HEADER_BYTES];
	write_u32(header, (uint32_t)record_bytes | (output == 0 ? 0 : OUTPUT_BIT));
	put(log, position, header, HEADER_BYTES);
}

static size_t get_header(const struct output_log *log, uint64_t position, int *output)
{
	uint8_t header[HEADER_BYTES];
	get(log, position, header, HEADER_BYTES);
	uint32_t value = read_u32(header);
	*output = (value & OUTPUT_BIT) == 0 ? 0 : 1;
	return value & ~OUTPUT_BIT;
}

bool output_log_resize(struct output_log *log, size_t ring_bytes)
{
	struct output_log resized = *log;
	resized.ring = malloc(ring_bytes);
	resized.ring_bytes = ring_bytes;
	if (resized.ring == NULL)
		return false;
	for (uint64_t position = log->start; position < log->end;) {
		size_t at = (size_t)(position % log->ring_bytes);
		size_t count = log->ring_bytes - at;
		if (count > log->end - position)
			count = (size_t)(log->end - position);
		put(&resized, position, log->ring + at, count);
		position += count;
	}
	free(log->ring);
	*log = resized;
	return true;
}

// Drops only as many bytes as needed. A record that loses its first bytes gets a new header in their place.
static void make_room(struct output_log *log, size_t wanted_bytes)
{
	while (log->end - log->start + wanted_bytes > log->ring_bytes) {
		size_t excess = (size_t)(log->end - log->start) + wanted_bytes - log->ring_bytes;
		int output;
		size_t record_bytes = get_header(log, log->start, &output);
		if (excess < record_bytes) {
			log->start += excess;
			log->oldest_offset += excess;
			put_header(log, log->start, output, record_bytes - excess);
		} else {
			log->start += HEADER_BYTES + record_bytes;
			log->oldest_offset += record_bytes;
		}
	}
	if (log->last < log->start)
		log->last = log->start;
}

// A record is much smaller than the ring, so make_room never drops the record that grows.
static void append_part(struct output_log *log, int output, const uint8_t *bytes, size_t count)
{
	int last_output = output;
	size_t last_bytes = log->end > log->start ? get_header(log, log->last, &last_output) : 0;
	bool grows = last_bytes > 0 && last_output == output && last_bytes + count <= RECORD_MAX_BYTES &&
		     last_bytes + count + HEADER_BYTES <= log->ring_bytes / 2;
	make_room(log, grows ? count : HEADER_BYTES + count);
	if (grows) {
		put_header(log, log->last, output, last_bytes + count);
	} else {
		log->last = log->end;
		put_header(log, log->end, output, count);
		log->end += HEADER_BYTES;
	}
	put(log, log->end, bytes, count);
	log->end += count;
	log->next_offset += count;
}

void output_log_append(struct output_log *log, int output, const uint8_t *bytes, size_t count)
{
	size_t most = log->ring_bytes / 4 < RECORD_MAX_BYTES ? log->ring_bytes / 4 : RECORD_MAX_BYTES;
	while (count > 0) {
		size_t part = count < most ? count : most;
		append_part(log, output, bytes, part);
		bytes += part;
		count -= part;
	}
}

struct log_cursor output_log_seek(const struct output_log *log, uint64_t offset)
{
	if (offset > log->next_offset)
		offset = log->next_offset;
	if (offset < log->oldest_offset)
		offset = log->oldest_offset;
	struct log_cursor cursor = {.offset = log->oldest_offset, .position = log->start};
	while (cursor.position < log->end) {
		int output;
		size_t record_bytes = get_header(log, cursor.position, &output);
		// Stay in the last record, even at its end: it may still grow.
		if (offset < cursor.offset + record_bytes || cursor.position == log->last) {
			cursor.skip_bytes = (size_t)(offset - cursor.offset);
			break;
		}
		cursor.offset += record_bytes;
		cursor.position += HEADER_BYTES + record_bytes;
	}
	cursor.offset = offset;
	return cursor;
}

static void catch_up(const struct output_log *log, struct log_cursor *cursor)
{
	if (cursor->position >= log->start)
		return;
	if (cursor->offset < log->oldest_offset)
		cursor->offset = log->oldest_offset;
	cursor->position = log->start;
	cursor->skip_bytes = (size_t)(cursor->offset - log->oldest_offset);
}

size_t output_log_read(const struct output_log *log, struct log_cursor *cursor, uint8_t *to, size_t most, int *output,
		       uint64_t *offset)
{
	catch_up(log, cursor);
	while (cursor->position < log->end) {
		size_t record_bytes = get_header(log, cursor->position, output);
		size_t left = record_bytes - cursor->skip_bytes;
		if (left == 0 && cursor->position == log->last)
			return 0; // this record may still grow
		if (left == 0) {
			cursor->position += HEADER_BYTES + record_bytes;
			cursor->skip_bytes = 0;
			continue;
		}
		size_t count = left < most ? left : most;
		get(log, cursor->position + HEADER_BYTES + cursor->skip_bytes, to, count);
		*offset = cursor->offset;
		cursor->offset += count;
		cursor->skip_bytes += count;
		return count;
	}
	return 0;
}
