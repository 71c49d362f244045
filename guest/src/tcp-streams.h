// TCP connections to servers, and those that a listener accepted. Each has one stream, with a credit window in each direction.
//
// A connection is live from DIAL until its FAILED or CLOSED is sent. A slot is free when its id is 0. The two
// directions end independently: on END of STDIN the agent shuts down its half, and END on STDOUT says that the server
// closed the other. CLOSED follows when both have ended, or at once when the connection breaks. No call on a socket
// blocks.
#ifndef OFFSHOOT_TCP_STREAMS_H
#define OFFSHOOT_TCP_STREAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "channel.h"
#include "input.h"
#include "protocol.h"

struct tcp_stream {
	uint32_t id;
	uint16_t port;
	uint8_t address[16]; // in network order
	uint8_t address_bytes; // 4 or 16; 0: the loopback addresses
	int fd;
	bool is_v6;
	bool is_connected;
	bool in_ready, in_ended;   // to the server
	bool out_ready, out_ended; // from the server
	uint32_t credit_bytes;
	struct input in;
};

struct tcp_streams {
	int poll_fd;
	struct channel *channel;
	uint32_t used; // slots from here on are free
	uint32_t first_served; // the slot that is served first; moves on each round, for fairness
	struct tcp_stream slots[STREAMS_MAX];
};

struct tcp_stream *tcp_streams_find(struct tcp_streams *streams, uint32_t id);
// DIAL or CONNECT: begins to connect, or answers FAILED. Returns false when the frame breaks the protocol.
bool tcp_streams_dial(struct tcp_streams *streams, const struct frame *frame);
bool tcp_streams_has_room(struct tcp_streams *streams);
// Serves a connection that a listener has accepted: answers CONNECTED with the address of its other end, or FAILED.
// Takes the descriptor. Only while tcp_streams_has_room.
void tcp_streams_adopt(struct tcp_streams *streams, uint32_t id, int fd, const struct sockaddr_storage *peer);
// STDIN, CREDIT or DETACH, which resets the connection. Returns false when the frame breaks the protocol.
bool tcp_streams_take(struct tcp_streams *streams, struct tcp_stream *stream, const struct frame *frame);

void tcp_streams_wake(struct tcp_streams *streams, uint32_t index);
// Moves at most one frame in each direction of each stream. True when any byte moved.
bool tcp_streams_pump(struct tcp_streams *streams);
// Resets all connections, because the host is gone.
void tcp_streams_end(struct tcp_streams *streams);

#endif
