// What a kept command wrote, both outputs in the order they were read, in a bounded ring that drops its oldest bytes.
//
// Bytes are numbered from 0 over both outputs together: that number is an *offset*, the same for ever. In the ring stand
// records (a header of 4 bytes: output and length), one after the other; their place in the ring is a *position*, which
// only grows too. A reader keeps a cursor; when the ring has moved past it, the cursor goes on at the oldest byte there.
#ifndef OFFSHOOT_OUTPUT_LOG_H
#define OFFSHOOT_OUTPUT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output_log {
	uint8_t *ring;
	size_t ring_bytes;
	uint64_t start, end;		     // positions: of the oldest record, and after the last
	uint64_t last;			     // position of the last record, which may still grow
	uint64_t oldest_offset, next_offset; // of the oldest byte kept, and of the byte that comes next
};

struct log_cursor {
	uint64_t offset;   // of the next byte to read
	uint64_t position; // of the record it is in
	size_t skip_bytes; // of that record, already read
};

// False when there is no memory. `ring_bytes` is what the log takes, headers and all; at least 64.
bool output_log_open(struct output_log *log, size_t ring_bytes);
void output_log_close(struct output_log *log);

void output_log_append(struct output_log *log, int output, const uint8_t *bytes, size_t count);

// At `offset`, or at the oldest byte still there, or at the end.
struct log_cursor output_log_seek(const struct output_log *log, uint64_t offset);
// Copies up to `most` bytes of one output; says which output, and the offset of the first byte. 0: nothing new.
size_t output_log_read(const struct output_log *log, struct log_cursor *cursor, uint8_t *to, size_t most, int *output,
		       uint64_t *offset);

#endif
