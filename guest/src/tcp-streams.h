// TCP connections to servers inside this machine: one stream each, with a credit window each way.
//
// A connection is live from DIAL until its FAILED or CLOSED is sent. Its slot is free when id is 0. The two directions end
// by themselves: END on STDIN closes our half, END on STDOUT says that the server closed its own; both make CLOSED. What
// breaks the connection ends it at once. Nothing here waits: every call on a socket returns at once.
#ifndef OFFSHOOT_TCP_STREAMS_H
#define OFFSHOOT_TCP_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "channel.h"
#include "input.h"
#include "protocol.h"

struct tcp_stream {
	uint32_t id;
	uint16_t port;
	int fd;
	bool is_v6;
	bool is_connected;
	bool in_ready, in_ended;   // towards the server
	bool out_ready, out_ended; // from the server
	uint32_t credit_bytes;
	struct input in;
};

struct tcp_streams {
	int poll_fd;
	struct channel *channel;
	uint32_t used; // slots from here on are free
	uint32_t turn; // who is served first, so that nobody always is
	struct tcp_stream slots[STREAMS_MAX];
};

struct tcp_stream *tcp_streams_find(struct tcp_streams *streams, uint32_t id);
// Starts to connect; FAILED at once when that cannot be. False: the frame breaks the protocol.
bool tcp_streams_dial(struct tcp_streams *streams, const struct frame *frame);
// STDIN, CREDIT, or DETACH: the host wants no more of it, the server sees a reset. False: the frame breaks the protocol.
bool tcp_streams_take(struct tcp_streams *streams, struct tcp_stream *stream, const struct frame *frame);

void tcp_streams_wake(struct tcp_streams *streams, uint32_t index);
// Moves what can move, at most one frame for each direction of each stream; true when anything did.
bool tcp_streams_pump(struct tcp_streams *streams);
// The host is gone.
void tcp_streams_end(struct tcp_streams *streams);

#endif
