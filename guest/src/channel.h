// The one byte channel to the host, with a bounded buffer each way. The host behind it may change without notice.
#ifndef OFFSHOOT_CHANNEL_H
#define OFFSHOOT_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decoder.h"

enum {
	CHANNEL_IN_BYTES = 32 * 1024,
	CHANNEL_OUT_BYTES = 192 * 1024,
	// Output of commands leaves this much free, so that answers never wait behind it.
	CHANNEL_ANSWER_RESERVE_BYTES = 64 * 1024,
};

struct channel {
	int fd;         // -1 while nobody is connected (on a virtio port: never)
	bool readable;  // since the last edge, until read() says EAGAIN
	bool writable;
	int64_t patient_until_ms; // what waits to be written may wait for company: a write wakes the host, which costs more than the bytes. 0: it may not
	bool ended;     // read() said 0: on a socket the peer is gone, on a virtio port it may come back
	struct decoder decoder;
	size_t in_start, in_end;
	size_t out_start, out_end;
	uint8_t in[CHANNEL_IN_BYTES];
	uint8_t out[CHANNEL_OUT_BYTES];
};

// Reads once if there is room and something to read; true when bytes came.
bool channel_fill(struct channel *channel);
// The next event of what has been read.
enum decoded channel_next(struct channel *channel, struct frame *frame);
// Writes what the host takes.
void channel_flush(struct channel *channel);
// Forgets what has not been written: it was meant for a host that is gone.
void channel_drop_output(struct channel *channel);

bool channel_has_room_for_answer(const struct channel *channel);
bool channel_has_room_for_output(const struct channel *channel);

// Room for a payload of up to FRAME_PAYLOAD_MAX_BYTES; only after one of the two above said yes.
uint8_t *channel_begin(struct channel *channel);
void channel_commit(struct channel *channel, uint8_t type, uint8_t flags, uint32_t stream, size_t payload_bytes);
void channel_send(struct channel *channel, uint8_t type, uint8_t flags, uint32_t stream, const void *payload,
		  size_t payload_bytes);
// A frame that is worth no write of its own for so long: another one is likely to follow.
void channel_send_patiently(struct channel *channel, uint8_t type, uint8_t flags, uint32_t stream, const void *payload,
			    size_t payload_bytes, int patience_ms);
// Milliseconds that what waits may go on waiting, 0 when it may not; -1 when nothing waits like that.
int channel_patience_ms(struct channel *channel);
// EXIT, from the status that waitpid gave.
void channel_send_exit(struct channel *channel, uint32_t stream, int status);
// ERROR, FAILED and RESET: a number and a text for people.
void channel_send_error(struct channel *channel, uint8_t type, uint32_t stream, int error, const char *text);

#endif
