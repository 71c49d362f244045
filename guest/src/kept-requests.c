#include "kept-requests.h"

#include <errno.h>

void kept_answer_list(struct kept *kept, struct channel *channel, uint32_t stream)
{
	size_t list_bytes = kept_list(kept, channel_begin(channel));
	channel_commit(channel, FRAME_KEPT_LIST, 0, stream, list_bytes);
}

bool kept_answer_order(struct kept *kept, struct attachments *attachments, struct channel *channel,
		       const struct frame *frame)
{
	size_t id_at = frame->type == FRAME_SIGNAL ? 1 : 0;
	if (frame->payload_bytes <= id_at || frame->payload_bytes > id_at + KEPT_ID_MAX_BYTES ||
	    (id_at == 1 && (frame->payload[0] < 1 || frame->payload[0] > 64)))
		return false;
	struct kept_command *command = kept_find(kept, frame->payload + id_at, frame->payload_bytes - id_at);
	if (command == NULL) {
		channel_send_error(channel, FRAME_ERROR, frame->stream, ENOENT, "no such kept command");
		return true;
	}
	if (frame->type == FRAME_SIGNAL) {
		kept_signal(command, frame->payload[0]);
	} else {
		attachments_lose(attachments, command);
		kept_forget(kept, command);
	}
	channel_send(channel, FRAME_DONE, 0, frame->stream, NULL, 0);
	return true;
}
