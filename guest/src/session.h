// What one host says over the channel, from its HELLO on, and everything that it may ask for.
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
#include "tcp-streams.h"

struct session {
	bool has_host;       // a HELLO of a version that we speak came and nothing went wrong since
	uint8_t message_type; // of the message that is being put together; 0: none
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
	struct drains drains;
};

void session_take_frame(struct session *session, const struct frame *frame);
// The host broke the protocol: what it says from here on has no meaning until its next HELLO.
void session_reset(struct session *session, int error, const char *why);
// Ends what belongs to the host: its commands, attachments and connections.
void session_end(struct session *session);

#endif
