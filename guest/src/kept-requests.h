// What the host asks about kept commands beside following them: which there are, signals, their end.
#ifndef OFFSHOOT_KEPT_REQUESTS_H
#define OFFSHOOT_KEPT_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "attachments.h"
#include "channel.h"
#include "kept.h"

void kept_answer_list(struct kept *kept, struct channel *channel, uint32_t stream);

// SIGNAL: `signal u8, id`. FORGET: `id`. False: the frame breaks the protocol.
bool kept_answer_order(struct kept *kept, struct attachments *attachments, struct channel *channel,
		       const struct frame *frame);

#endif
