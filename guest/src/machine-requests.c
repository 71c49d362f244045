#include "machine-requests.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "hold.h"
#include "volumes.h"

enum { VOLUMES_AS_THEY_ARE = -1 };

void machine_hold(struct machine *machine, struct channel *channel, uint32_t stream)
{
	// A held machine cannot read from its disk, because kernel threads take part in that. So it reads these files before.
	refresh_prepare(machine->target);
	int error = hold_take();
	if (error == 0)
		channel_send(channel, FRAME_HELD, 0, stream, NULL, 0);
	else
		channel_send_error(channel, FRAME_ERROR, stream, error, "hold: not every CPU came");
}

// Ends the hold and answers. A failed step leaves the machine held; a failure of the volumes comes after the release.
static void end_hold(struct channel *channel, uint8_t answer, uint32_t stream, struct refreshed done, int volumes)
{
	if (done.error == 0) {
		hold_release();
		if (volumes != VOLUMES_AS_THEY_ARE)
			done = (struct refreshed){volumes_set((uint8_t)volumes), "volumes"};
	}
	if (done.error == 0) {
		channel_send(channel, answer, 0, stream, NULL, 0);
		return;
	}
	char text[128];
	snprintf(text, sizeof text, "refresh: %s: %s", done.step, strerror(done.error));
	channel_send_error(channel, FRAME_ERROR, stream, done.error, text);
}

void machine_release(struct machine *machine, struct channel *channel, const struct frame *frame)
{
	struct refreshed done = {EAGAIN, "not done yet"};
	if (!machine->is_identity_incomplete)
		done = refresh_time(machine->target, frame->payload, frame->payload_bytes);
	end_hold(channel, FRAME_RELEASED, frame->stream, done, VOLUMES_AS_THEY_ARE);
}

void machine_refresh(struct machine *machine, struct channel *channel, uint32_t stream, const uint8_t *message,
		     size_t message_bytes)
{
	const struct refresh_target *target = machine->target;
	struct refresh_request request;
	if (!refresh_request_parse(&request, message, message_bytes)) {
		channel_send_error(channel, FRAME_ERROR, stream, EINVAL, "refresh: request");
		return;
	}
	struct refreshed done = refresh_begin(target, &request);
	if (done.error == 0) {
		// Sent early, so that the host can continue while the agent finishes. The agent reads its next frame after that.
		channel_send(channel, FRAME_REFRESHED, 0, stream, NULL, 0);
		channel_flush(channel);
		done = refresh_finish(target, &request);
	}
	machine->is_identity_incomplete = done.error != 0;
	end_hold(channel, FRAME_SETTLED, stream, done,
		 request.has_volumes && target->is_system ? request.volumes : VOLUMES_AS_THEY_ARE);
}

// Before a snapshot: writes everything to disk, drops the page cache, then reads again the files that a refresh needs
// at once.
void machine_quiesce(struct machine *machine, struct channel *channel, uint32_t stream)
{
	// sync() waits for kernel threads, which do not run in a held machine.
	if (hold_is_taken()) {
		channel_send_error(channel, FRAME_ERROR, stream, EAGAIN, "the machine is held");
		return;
	}
	if (machine->target->is_system) {
		sync();
		volumes_give_back();
		file_write("/proc/sys/vm/drop_caches", "3");
	}
	refresh_prepare(machine->target);
	channel_send(channel, FRAME_QUIESCED, 0, stream, NULL, 0);
}
