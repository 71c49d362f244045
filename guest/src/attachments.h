// Streams of a connection that follow kept commands: each with a cursor into the log and a credit window of its own.
// A host that reads slowly is passed by the log, not the command: the offset of its next LOG frame then makes a jump.
#ifndef OFFSHOOT_ATTACHMENTS_H
#define OFFSHOOT_ATTACHMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "channel.h"
#include "input.h"
#include "kept.h"

struct attachment {
	uint32_t id;		      // 0: free
	struct kept_command *command; // NULL: forgotten
	struct log_cursor cursor;
	uint32_t credit_bytes;
	struct input in;
};

struct attachments {
	struct channel *channel;
	struct kept *kept;
	uint32_t used; // slots from here on are free
	struct attachment slots[STREAMS_MAX];
};

struct attachment *attachments_find(struct attachments *attachments, uint32_t id);
// False: the frame breaks the protocol. These are for streams that attachments_find knows, but for ATTACH.
bool attachments_attach(struct attachments *attachments, const struct frame *frame);
bool attachments_stdin(struct attachment *attachment, const struct frame *frame);
bool attachments_credit(struct attachment *attachment, const struct frame *frame);
bool attachments_kill(struct attachment *attachment, const struct frame *frame);
bool attachments_resize(struct attachment *attachment, const struct frame *frame);
void attachments_detach(struct attachments *attachments, struct attachment *attachment);
// Before a kept command is forgotten: its followers are told so.
void attachments_lose(struct attachments *attachments, const struct kept_command *command);
// At most one LOG frame for each; true when anything moved.
bool attachments_pump(struct attachments *attachments);
// The host is gone.
void attachments_end(struct attachments *attachments);

#endif
