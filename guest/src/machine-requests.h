// What the host asks of the machine as a whole: to be made ready for a snapshot, held, released, made another. Each is
// answered on its stream.
#ifndef OFFSHOOT_MACHINE_REQUESTS_H
#define OFFSHOOT_MACHINE_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel.h"
#include "refresh.h"

struct machine {
	const struct refresh_target *target;
	bool is_nobody; // a refresh came only half way: this machine is nobody, and stays held
};

void machine_hold(struct machine *machine, struct channel *channel, uint32_t stream);
void machine_release(struct machine *machine, struct channel *channel, const struct frame *frame);
void machine_refresh(struct machine *machine, struct channel *channel, uint32_t stream, const uint8_t *message,
		     size_t message_bytes);
void machine_quiesce(struct machine *machine, struct channel *channel, uint32_t stream);

#endif
