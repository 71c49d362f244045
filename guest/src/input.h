// Input from the host to a command or a TCP connection: a credit window, and the bytes that have not been written yet.
#ifndef OFFSHOOT_INPUT_H
#define OFFSHOOT_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "channel.h"

struct input {
	bool end_wanted;       // the host sent END
	bool must_report_close;    // the command closed its stdin and STDIN_CLOSED is not sent yet
	uint32_t window_bytes; // bytes that the host may still send
	uint32_t ungranted_bytes;  // bytes written to the command and not yet granted again
	uint32_t written_bytes;  // bytes written to the command so far; counted up to WIDEN_AFTER_BYTES only
	bool is_wide;	       // the window is WINDOW_MAX_BYTES; the number of such inputs is limited
	size_t size_bytes;     // size of the whole window
	uint8_t *waiting;      // a buffer of that size, allocated with the first bytes
	size_t waiting_start, waiting_end;
};

enum input_taken { INPUT_TAKEN, INPUT_BEYOND_WINDOW, INPUT_NO_MEMORY };
enum input_written { INPUT_IDLE, INPUT_MOVED, INPUT_BLOCKED, INPUT_BROKEN };

void input_open(struct input *input);
// Counts and buffers the payload of a STDIN frame. Without a reader the payload is only counted.
enum input_taken input_take(struct input *input, const struct frame *frame, bool has_reader);
// Writes buffered bytes with one call.
enum input_written input_write(struct input *input, int fd);
// True when the host sent END and all bytes before it are written.
bool input_is_done(const struct input *input);
// Sends CREDIT for written bytes, and STDIN_CLOSED when due. True when it sent a frame.
bool input_answer(struct input *input, struct channel *channel, uint32_t stream);
void input_close(struct input *input);

#endif
