#include "channel.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bytes.h"

bool channel_fill(struct channel *channel)
{
	if (channel->fd < 0 || !channel->readable || channel->ended)
		return false;
	if (channel->in_start == channel->in_end)
		channel->in_start = channel->in_end = 0;
	if (channel->in_end == CHANNEL_IN_BYTES)
		return false;

	ssize_t got = read(channel->fd, channel->in + channel->in_end, CHANNEL_IN_BYTES - channel->in_end);
	if (got > 0) {
		channel->in_end += (size_t)got;
		return true;
	}
	if (got < 0 && errno == EINTR)
		return true;
	channel->readable = false;
	channel->ended = got == 0 || errno != EAGAIN;
	return false;
}

enum decoded channel_next(struct channel *channel, struct frame *frame)
{
	size_t consumed;
	enum decoded result = decoder_next(&channel->decoder, channel->in + channel->in_start,
					   channel->in_end - channel->in_start, &consumed, frame);
	channel->in_start += consumed;
	return result;
}

void channel_flush(struct channel *channel)
{
	// Also when the channel is full: otherwise the event loop would spin on an expired delay.
	channel->write_after_ms = 0;
	while (channel->fd >= 0 && channel->writable && channel->out_start < channel->out_end) {
		ssize_t put = write(channel->fd, channel->out + channel->out_start, channel->out_end - channel->out_start);
		if (put > 0)
			channel->out_start += (size_t)put;
		else if (put < 0 && errno != EINTR)
			channel->writable = false;
		else if (put == 0)
			break;
	}
	if (channel->out_start == channel->out_end)
		channel->out_start = channel->out_end = 0;
}

void channel_drop_output(struct channel *channel)
{
	channel->out_start = channel->out_end = 0;
	channel->write_after_ms = 0;
}

static size_t room(const struct channel *channel)
{
	return CHANNEL_OUT_BYTES - (channel->out_end - channel->out_start);
}

bool channel_has_room_for_answer(const struct channel *channel)
{
	return room(channel) >= FRAME_MAX_BYTES;
}

bool channel_has_room_for_output(const struct channel *channel)
{
	return room(channel) >= CHANNEL_ANSWER_RESERVE_BYTES + FRAME_MAX_BYTES;
}

uint8_t *channel_begin(struct channel *channel)
{
	if (CHANNEL_OUT_BYTES - channel->out_end < FRAME_MAX_BYTES) {
		size_t waiting = channel->out_end - channel->out_start;
		memmove(channel->out, channel->out + channel->out_start, waiting);
		channel->out_start = 0;
		channel->out_end = waiting;
	}
	return channel->out + channel->out_end + FRAME_HEADER_BYTES;
}

void channel_commit(struct channel *channel, uint8_t type, uint8_t flags, uint32_t stream, size_t payload_bytes)
{
	uint8_t *frame = channel->out + channel->out_end;
	frame[0] = type;
	frame[1] = flags;
	write_u16(frame + 2, (uint16_t)payload_bytes);
	write_u32(frame + 4, stream);
	frame[FRAME_HEADER_BYTES + payload_bytes] = FRAME_TRAILER;
	channel->out_end += FRAME_HEADER_BYTES + payload_bytes + 1;
	channel->write_after_ms = 0;
}

void channel_send(struct channel *channel, uint8_t type, uint8_t flags, uint32_t stream, const void *payload,
		  size_t payload_bytes)
{
	uint8_t *at = channel_begin(channel);
	if (payload_bytes > 0)
		memcpy(at, payload, payload_bytes);
	channel_commit(channel, type, flags, stream, payload_bytes);
}

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void channel_send_delayed(struct channel *channel, uint8_t type, uint8_t flags, uint32_t stream, const void *payload,
			  size_t payload_bytes, int delay_ms)
{
	int64_t others_after_ms = channel->write_after_ms;
	bool is_alone = channel->out_start == channel->out_end;
	channel_send(channel, type, flags, stream, payload, payload_bytes);
	if (is_alone || others_after_ms > 0) {
		int64_t after_ms = now_ms() + delay_ms;
		channel->write_after_ms = is_alone || after_ms < others_after_ms ? after_ms : others_after_ms;
	}
}

int channel_delay_ms(struct channel *channel)
{
	if (channel->write_after_ms == 0)
		return -1;
	int64_t left_ms = channel->write_after_ms - now_ms();
	return left_ms > 0 ? (int)left_ms : 0;
}

void channel_send_exit(struct channel *channel, uint32_t stream, int status)
{
	bool by_signal = WIFSIGNALED(status);
	uint8_t how[2] = {
		by_signal ? 0 : (uint8_t)WEXITSTATUS(status),
		by_signal ? (uint8_t)WTERMSIG(status) : 0,
	};
	channel_send(channel, FRAME_EXIT, 0, stream, how, sizeof how);
}

void channel_send_error(struct channel *channel, uint8_t type, uint32_t stream, int error, const char *text)
{
	uint8_t *at = channel_begin(channel);
	size_t text_bytes = strnlen(text, 512);
	write_u32(at, (uint32_t)error);
	memcpy(at + 4, text, text_bytes);
	channel_commit(channel, type, 0, stream, 4 + text_bytes);
}
