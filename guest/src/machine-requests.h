// Requests for the machine as a whole: prepare for a snapshot, hold, release, refresh. Each sends its answer on its
// stream.
#ifndef OFFSHOOT_MACHINE_REQUESTS_H
#define OFFSHOOT_MACHINE_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel.h"
#include "refresh.h"

struct machine {
	const struct refresh_target *target;
	bool is_identity_incomplete; // the last REFRESH failed, so the machine stays held
};

void machine_hold(struct machine *machine, struct channel *channel, uint32_t stream);
void machine_release(struct machine *machine, struct channel *channel, const struct frame *frame);
void machine_refresh(struct machine *machine, struct channel *channel, uint32_t stream, const uint8_t *message,
		     size_t message_bytes);
void machine_quiesce(struct machine *machine, struct channel *channel, uint32_t stream);

#endif
