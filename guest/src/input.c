#include "input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"

enum {
	// More than a pipe holds: a command that has taken so much is reading.
	WIDEN_AFTER_BYTES = 2 * WINDOW_BYTES,
	// At the same time. Together they take 8 MiB of memory.
	WIDE_INPUTS_MAX = 32,
};

static unsigned wide_inputs;

void input_open(struct input *input)
{
	*input = (struct input){.window_bytes = WINDOW_BYTES, .size_bytes = WINDOW_BYTES};
}

static bool keep(struct input *input, const uint8_t *bytes, size_t count)
{
	if (input->waiting == NULL)
		input->waiting = malloc(input->size_bytes);
	if (input->waiting == NULL)
		return false;
	if (input->waiting_end + count > input->size_bytes) {
		memmove(input->waiting, input->waiting + input->waiting_start, input->waiting_end - input->waiting_start);
		input->waiting_end -= input->waiting_start;
		input->waiting_start = 0;
	}
	memcpy(input->waiting + input->waiting_end, bytes, count);
	input->waiting_end += count;
	return true;
}

enum input_taken input_take(struct input *input, const struct frame *frame, bool has_reader)
{
	if (frame->payload_bytes > input->window_bytes)
		return INPUT_BEYOND_WINDOW;
	input->window_bytes -= (uint32_t)frame->payload_bytes;
	if (!has_reader)
		return INPUT_TAKEN;
	if (frame->payload_bytes > 0 && !keep(input, frame->payload, frame->payload_bytes))
		return INPUT_NO_MEMORY;
	input->end_wanted = input->end_wanted || (frame->flags & FLAG_END) != 0;
	return INPUT_TAKEN;
}

enum input_written input_write(struct input *input, int fd)
{
	if (input->waiting_end == input->waiting_start)
		return INPUT_IDLE;
	ssize_t put = write(fd, input->waiting + input->waiting_start, input->waiting_end - input->waiting_start);
	if (put < 0)
		return errno == EAGAIN ? INPUT_BLOCKED : errno == EINTR ? INPUT_MOVED : INPUT_BROKEN;
	input->waiting_start += (size_t)put;
	input->ungranted_bytes += (uint32_t)put;
	if (input->written_bytes < WIDEN_AFTER_BYTES)
		input->written_bytes += (uint32_t)put;
	if (input->waiting_start == input->waiting_end)
		input->waiting_start = input->waiting_end = 0;
	return INPUT_MOVED;
}

bool input_is_done(const struct input *input)
{
	return input->end_wanted && input->waiting_end == 0;
}

// Widens the window. Returns the bytes that this adds; 0: the command may not read, or there are too many wide windows.
static uint32_t widen(struct input *input)
{
	if (input->written_bytes < WIDEN_AFTER_BYTES || input->size_bytes == WINDOW_MAX_BYTES || input->waiting == NULL ||
	    wide_inputs == WIDE_INPUTS_MAX)
		return 0;
	uint8_t *wider = realloc(input->waiting, WINDOW_MAX_BYTES);
	if (wider == NULL)
		return 0;
	input->waiting = wider;
	input->size_bytes = WINDOW_MAX_BYTES;
	input->is_wide = true;
	wide_inputs++;
	return WINDOW_MAX_BYTES - WINDOW_BYTES;
}

bool input_answer(struct input *input, struct channel *channel, uint32_t stream)
{
	bool progress = false;
	if (input->ungranted_bytes >= input->size_bytes / 2 && channel_has_room_for_answer(channel)) {
		uint8_t credit[5] = {CREDIT_STDIN};
		uint32_t granted = input->ungranted_bytes + widen(input);
		write_u32(credit + 1, granted);
		channel_send(channel, FRAME_CREDIT, 0, stream, credit, sizeof credit);
		input->window_bytes += granted;
		input->ungranted_bytes = 0;
		progress = true;
	}
	if (input->must_report_close && channel_has_room_for_answer(channel)) {
		channel_send(channel, FRAME_STDIN_CLOSED, 0, stream, NULL, 0);
		input->must_report_close = false;
		progress = true;
	}
	return progress;
}

void input_close(struct input *input)
{
	if (input->is_wide)
		wide_inputs--;
	input->is_wide = false;
	free(input->waiting);
	input->waiting = NULL;
	input->waiting_start = input->waiting_end = 0;
}
