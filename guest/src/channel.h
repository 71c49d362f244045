// The byte channel to the host, with a bounded buffer in each direction. Another host may take over at any byte.
#ifndef OFFSHOOT_CHANNEL_H
#define OFFSHOOT_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decoder.h"

enum {
	CHANNEL_IN_BYTES = 32 * 1024,
	CHANNEL_OUT_BYTES = 192 * 1024,
	// Output of commands leaves this much room free, so that answers never wait for it.
	CHANNEL_ANSWER_RESERVE_BYTES = 64 * 1024,
};

struct channel {
	int fd;		// -1 while no host is connected (never on a virtio port)
	bool readable;	// from an edge of epoll until read() says EAGAIN
	bool writable;
	// Buffered output may wait until then for more, because each write wakes the host, which costs more than the bytes.
	// 0: write at once.
	int64_t write_after_ms;
	bool ended; // read() said 0: on a socket the host is gone, on a virtio port another one may come
	struct decoder decoder;
	size_t in_start, in_end;
	size_t out_start, out_end;
	uint8_t in[CHANNEL_IN_BYTES];
	uint8_t out[CHANNEL_OUT_BYTES];
};

// Reads once, if the buffer has room and the channel is readable. True when bytes came.
bool channel_fill(struct channel *channel);
// Decodes the next frame of the bytes read so far.
enum decoded channel_next(struct channel *channel, struct frame *frame);
// Writes as much as the channel takes.
void channel_flush(struct channel *channel);
// Drops unwritten output, which was for a host that is gone.
void channel_drop_output(struct channel *channel);

bool channel_has_room_for_answer(const struct channel *channel);
bool channel_has_room_for_output(const struct channel *channel);

// Where the caller writes a payload of up to FRAME_PAYLOAD_MAX_BYTES. Only after one of the two above returned true.
uint8_t *channel_begin(struct channel *channel);
void channel_commit(struct channel *channel, uint8_t type, uint8_t flags, uint32_t stream, size_t payload_bytes);
void channel_send(struct channel *channel, uint8_t type, uint8_t flags, uint32_t stream, const void *payload,
		  size_t payload_bytes);
// As channel_send, but the frame may wait that long for another one, which is likely to follow.
void channel_send_delayed(struct channel *channel, uint8_t type, uint8_t flags, uint32_t stream, const void *payload,
			  size_t payload_bytes, int delay_ms);
// Milliseconds until delayed output must be written; 0: now; -1: no output is delayed.
int channel_delay_ms(struct channel *channel);
// Sends EXIT, from the status that waitpid returned.
void channel_send_exit(struct channel *channel, uint32_t stream, int status);
// Sends ERROR, FAILED, RESET or CLOSED: an error number and a readable text.
void channel_send_error(struct channel *channel, uint8_t type, uint32_t stream, int error, const char *text);

#endif
