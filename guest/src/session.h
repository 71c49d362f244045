// The protocol with one host, from its HELLO on: joins the frames of a message, and dispatches each frame to its
// handler.
#ifndef OFFSHOOT_SESSION_H
#define OFFSHOOT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attachments.h"
#include "channel.h"
#include "commands.h"
#include "drains.h"
#include "kept.h"
#include "machine-requests.h"
#include "tcp-listeners.h"
#include "tcp-streams.h"

struct session {
	bool has_host;	      // the host sent a HELLO of a version that we speak, and has kept to the protocol since
	uint8_t message_type; // type of the message whose frames are still arriving; 0: none
	uint32_t message_stream;
	size_t message_bytes;
	bool message_too_long;
	uint8_t message[MESSAGE_MAX_BYTES];
	struct machine machine;
	struct channel channel;
	struct commands commands;
	struct kept kept;
	struct attachments attachments;
	struct tcp_streams tcp_streams;
	struct tcp_listeners tcp_listeners;
	struct drains drains;
};

// Handles one frame of the host and writes its answer to the channel.
void session_take_frame(struct session *session, const struct frame *frame);
// Answers RESET and ends the session, because the host broke the protocol. The agent skips everything up to its next
// HELLO.
void session_reset(struct session *session, int error, const char *why);
// Ends everything that belongs to the host's connection: running commands, attachments, TCP connections and
// listeners. Kept commands continue.
void session_end(struct session *session);

#endif
