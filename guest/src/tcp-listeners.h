// TCP servers in this machine whose connections the host serves. Each has one stream.
//
// A listener is live from LISTENING until its CLOSED is sent. A slot is free when its id is 0. Connections wait in the
// kernel's backlog until the host takes them with ACCEPT. INCOMING says that some may wait.
#ifndef OFFSHOOT_TCP_LISTENERS_H
#define OFFSHOOT_TCP_LISTENERS_H

#include <stdbool.h>
#include <stdint.h>

#include "channel.h"
#include "protocol.h"
#include "tcp-streams.h"

struct tcp_listener {
	uint32_t id;
	int fd;
	bool ready; // a connection has come since the last INCOMING
};

struct tcp_listeners {
	int poll_fd;
	struct channel *channel;
	struct tcp_listener slots[TCP_LISTENERS_MAX];
};

struct tcp_listener *tcp_listeners_find(struct tcp_listeners *listeners, uint32_t id);
// Answers LISTENING or FAILED. Returns false when the frame breaks the protocol.
bool tcp_listeners_listen(struct tcp_listeners *listeners, const struct frame *frame);
// Opens a stream with a waiting connection, or answers FAILED: EAGAIN when none waits. Returns false when the frame
// breaks the protocol.
bool tcp_listeners_accept(struct tcp_listeners *listeners, struct tcp_streams *streams, const struct frame *frame);
// DETACH, which ends the listener. Returns false for every other frame: it breaks the protocol.
bool tcp_listeners_take(struct tcp_listeners *listeners, struct tcp_listener *listener, const struct frame *frame);

void tcp_listeners_wake(struct tcp_listeners *listeners, uint32_t index);
// Sends INCOMING. True when it did.
bool tcp_listeners_pump(struct tcp_listeners *listeners);
// Closes all listeners, because the host is gone.
void tcp_listeners_end(struct tcp_listeners *listeners);

#endif
