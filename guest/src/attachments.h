// Attachments: streams of the host's connection that follow kept commands. Each has a cursor into the log and a credit
// window. A slow reader never slows the command: the log drops bytes that it has not read, and the offset of its next
// LOG frame jumps over them.
#ifndef OFFSHOOT_ATTACHMENTS_H
#define OFFSHOOT_ATTACHMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "channel.h"
#include "input.h"
#include "kept.h"

struct attachment {
	uint32_t id;		      // 0: free
	struct kept_command *command; // NULL: the host has forgotten it
	struct log_cursor cursor;
	uint32_t credit_bytes;
	struct input in;
};

// The host has one attachment to each running command, and others for its clients.
enum { ATTACHMENTS_MAX = KEPT_MAX + STREAMS_MAX };

struct attachments {
	struct channel *channel;
	struct kept *kept;
	uint32_t used; // slots from here on are free
	struct attachment slots[ATTACHMENTS_MAX];
};

struct attachment *attachments_find(struct attachments *attachments, uint32_t id);
// These return false when the frame breaks the protocol. All but ATTACH are for streams that attachments_find returned.
bool attachments_attach(struct attachments *attachments, const struct frame *frame);
bool attachments_stdin(struct attachment *attachment, const struct frame *frame);
bool attachments_credit(struct attachment *attachment, const struct frame *frame);
bool attachments_kill(struct attachment *attachment, const struct frame *frame);
bool attachments_resize(struct attachment *attachment, const struct frame *frame);
void attachments_detach(struct attachments *attachments, struct attachment *attachment);
// Call it before a kept command is forgotten: its attachments then end with ERROR.
void attachments_lose(struct attachments *attachments, const struct kept_command *command);
// Call it before kept_pump.
void attachments_note_slowest(struct attachments *attachments);
// Sends at most one LOG frame for each attachment. True when any byte moved.
bool attachments_pump(struct attachments *attachments);
// Ends all attachments, because the host is gone. The commands continue.
void attachments_end(struct attachments *attachments);

#endif
