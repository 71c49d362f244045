// The output of a kept command, stdout and stderr in the order in which the agent read them. A ring buffer holds it and
// drops the oldest bytes.
//
// Each byte has an *offset*: its number, from 0, over both outputs together. The ring holds records, each with a header
// of 4 bytes (output and length). The *position* of a record counts all bytes ever put into the ring, headers included.
// Both only grow. A reader has a cursor. When the ring has dropped the bytes at the cursor, the reader continues at the
// oldest byte.
#ifndef OFFSHOOT_OUTPUT_LOG_H
#define OFFSHOOT_OUTPUT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output_log {
	uint8_t *ring;
	size_t ring_bytes;
	uint64_t start, end;		     // positions of the oldest record, and after the last one
	uint64_t last;			     // position of the last record, which may still grow
	uint64_t oldest_offset, next_offset; // offsets of the oldest byte in the ring, and of the next byte to be written
};

struct log_cursor {
	uint64_t offset;   // offset of the next byte to read
	uint64_t position; // position of the record that holds it
	size_t skip_bytes; // bytes of that record that are already read
};

// Returns false when there is no memory. `ring_bytes` is the size of the ring, at least 64; headers count.
bool output_log_open(struct output_log *log, size_t ring_bytes);
// Gives the ring another size, at least that of its content and at least 64. Returns false when there is no memory; the
// log is then as before.
bool output_log_resize(struct output_log *log, size_t ring_bytes);
void output_log_close(struct output_log *log);

void output_log_append(struct output_log *log, int output, const uint8_t *bytes, size_t count);

// A cursor at `offset`, or at the oldest byte when that is dropped, or at the end when `offset` is beyond it.
struct log_cursor output_log_seek(const struct output_log *log, uint64_t offset);
// Copies up to `most` bytes of one output. Sets `output`, and the `offset` of the first byte. Returns 0 when none are
// new.
size_t output_log_read(const struct output_log *log, struct log_cursor *cursor, uint8_t *to, size_t most, int *output,
		       uint64_t *offset);

#endif
