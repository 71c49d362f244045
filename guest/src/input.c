#include "input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"

void input_open(struct input *input)
{
	*input = (struct input){.window_bytes = WINDOW_BYTES};
}

static bool keep(struct input *input, const uint8_t *bytes, size_t count)
{
	if (input->waiting == NULL)
		input->waiting = malloc(WINDOW_BYTES);
	if (input->waiting == NULL)
		return false;
	if (input->waiting_end + count > WINDOW_BYTES) {
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
	input->taken_bytes += (uint32_t)put;
	if (input->waiting_start == input->waiting_end)
		input->waiting_start = input->waiting_end = 0;
	return INPUT_MOVED;
}

bool input_is_done(const struct input *input)
{
	return input->end_wanted && input->waiting_end == 0;
}

bool input_answer(struct input *input, struct channel *channel, uint32_t stream)
{
	bool progress = false;
	if (input->taken_bytes >= WINDOW_BYTES / 2 && channel_has_room_for_answer(channel)) {
		uint8_t credit[5] = {CREDIT_STDIN};
		write_u32(credit + 1, input->taken_bytes);
		channel_send(channel, FRAME_CREDIT, 0, stream, credit, sizeof credit);
		input->window_bytes += input->taken_bytes;
		input->taken_bytes = 0;
		progress = true;
	}
	if (input->closed_unsaid && channel_has_room_for_answer(channel)) {
		channel_send(channel, FRAME_STDIN_CLOSED, 0, stream, NULL, 0);
		input->closed_unsaid = false;
		progress = true;
	}
	return progress;
}

void input_close(struct input *input)
{
	free(input->waiting);
	input->waiting = NULL;
	input->waiting_start = input->waiting_end = 0;
}
