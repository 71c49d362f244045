// What a host sends to the standard input of a command: a credit window, and bytes that the command has not taken yet.
#ifndef OFFSHOOT_INPUT_H
#define OFFSHOOT_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "channel.h"

struct input {
	bool end_wanted;       // the host sent END
	bool closed_unsaid;    // the command closed its stdin and the host does not know
	uint32_t window_bytes; // what the host may still send
	uint32_t taken_bytes;  // written to the command, not yet granted again
	uint32_t moved_bytes;  // written to the command in all, as far as it matters
	bool is_wide;	       // counts as one of the few whose window is WINDOW_MAX_BYTES
	size_t size_bytes;     // the whole window
	uint8_t *waiting;      // of that size, made when there is something to keep for the first time
	size_t waiting_start, waiting_end;
};

enum input_taken { INPUT_TAKEN, INPUT_BEYOND_WINDOW, INPUT_NO_MEMORY };
enum input_written { INPUT_IDLE, INPUT_MOVED, INPUT_BLOCKED, INPUT_BROKEN };

void input_open(struct input *input);
// Counts and keeps the payload of a STDIN frame; not kept when nobody is there to read it.
enum input_taken input_take(struct input *input, const struct frame *frame, bool has_reader);
// One write of what waits.
enum input_written input_write(struct input *input, int fd);
// The host wants the end and everything before it is written.
bool input_is_done(const struct input *input);
// Grants what was taken, and says that the command reads no more; true when a frame was sent.
bool input_answer(struct input *input, struct channel *channel, uint32_t stream);
void input_close(struct input *input);

#endif
