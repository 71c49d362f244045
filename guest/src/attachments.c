#include "attachments.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "bytes.h"
#include "terminal.h"

enum { LOG_HEADER_BYTES = 9 };

struct attachment *attachments_find(struct attachments *attachments, uint32_t id)
{
	for (uint32_t i = 0; i < attachments->used; i++)
		if (attachments->slots[i].id == id)
			return &attachments->slots[i];
	return NULL;
}

static void release(struct attachments *attachments, struct attachment *attachment)
{
	input_close(&attachment->in);
	if (attachment->command != NULL)
		attachment->command->attachments_count--;
	attachment->id = 0;
	while (attachments->used > 0 && attachments->slots[attachments->used - 1].id == 0)
		attachments->used--;
}

// ATTACH: `offset u64, id`. Answer ATTACHED: `first offset u64, next offset of the log u64, pid u32`.
bool attachments_attach(struct attachments *attachments, const struct frame *frame)
{
	if (frame->stream == 0 || frame->payload_bytes <= 8 || frame->payload_bytes > 8 + KEPT_ID_MAX_BYTES)
		return false;
	struct kept_command *command = kept_find(attachments->kept, frame->payload + 8, frame->payload_bytes - 8);
	struct attachment *attachment = attachments_find(attachments, 0);
	if (attachment == NULL && attachments->used < ATTACHMENTS_MAX)
		attachment = &attachments->slots[attachments->used++];
	if (command == NULL || attachment == NULL) {
		channel_send_error(attachments->channel, FRAME_ERROR, frame->stream, command == NULL ? ENOENT : EAGAIN,
				   command == NULL ? "no such kept command" : "too many attachments");
		return true;
	}
	*attachment = (struct attachment){
		.id = frame->stream,
		.command = command,
		.cursor = output_log_seek(&command->log, read_u64(frame->payload)),
		.credit_bytes = WINDOW_BYTES,
	};
	command->was_attached = true;
	command->attachments_count++;
	input_open(&attachment->in);
	attachment->in.must_report_close = command->in_fd < 0;

	uint8_t answer[20];
	write_u64(answer, attachment->cursor.offset);
	write_u64(answer + 8, command->log.next_offset);
	write_u32(answer + 16, (uint32_t)command->pid);
	channel_send(attachments->channel, FRAME_ATTACHED, 0, frame->stream, answer, sizeof answer);
	return true;
}

static bool has_input(const struct attachment *attachment)
{
	return attachment->command != NULL && attachment->command->in_fd >= 0;
}

bool attachments_stdin(struct attachment *attachment, const struct frame *frame)
{
	enum input_taken taken = input_take(&attachment->in, frame, has_input(attachment));
	// Without memory only this attachment gets STDIN_CLOSED. The other attachments can still write to the command.
	if (taken == INPUT_NO_MEMORY || !has_input(attachment))
		attachment->in.must_report_close = true;
	return taken != INPUT_BEYOND_WINDOW;
}

bool attachments_credit(struct attachment *attachment, const struct frame *frame)
{
	if (frame->payload_bytes != 5 || frame->payload[0] != CREDIT_STDOUT)
		return false;
	uint32_t bytes = read_u32(frame->payload + 1);
	if (bytes > WINDOW_MAX_BYTES - attachment->credit_bytes)
		return false;
	attachment->credit_bytes += bytes;
	return true;
}

bool attachments_kill(struct attachment *attachment, const struct frame *frame)
{
	if (frame->payload_bytes != 1 || frame->payload[0] < 1 || frame->payload[0] > 64)
		return false;
	if (attachment->command != NULL)
		kept_signal(attachment->command, frame->payload[0]);
	return true;
}

bool attachments_resize(struct attachment *attachment, const struct frame *frame)
{
	if (frame->payload_bytes != 4)
		return false;
	struct kept_command *command = attachment->command;
	if (command != NULL && command->is_terminal)
		terminal_resize(command->out[0].fd, read_u16(frame->payload), read_u16(frame->payload + 2));
	return true;
}

void attachments_detach(struct attachments *attachments, struct attachment *attachment)
{
	channel_send(attachments->channel, FRAME_DONE, 0, attachment->id, NULL, 0);
	release(attachments, attachment);
}

void attachments_lose(struct attachments *attachments, const struct kept_command *command)
{
	for (uint32_t i = 0; i < attachments->used; i++)
		if (attachments->slots[i].command == command)
			attachments->slots[i].command = NULL;
}

// All attachments share one stdin: when one of them ends it, it is closed for all.
static bool pump_input(struct attachment *attachment)
{
	struct kept_command *command = attachment->command;
	bool progress = false;
	if (command->in_fd >= 0 && command->in_ready) {
		enum input_written written = input_write(&attachment->in, command->in_fd);
		progress = written == INPUT_MOVED;
		command->in_ready = written != INPUT_BLOCKED;
		// On a terminal END does nothing: the byte that its settings name (Ctrl-D) ends the input.
		if (written == INPUT_BROKEN || (input_is_done(&attachment->in) && !command->is_terminal))
			kept_close_input(command);
	}
	if (command->in_fd < 0 && attachment->in.waiting != NULL) {
		input_close(&attachment->in);
		attachment->in.must_report_close = true;
		progress = true;
	}
	return progress;
}

static bool pump_log(struct channel *channel, struct attachment *attachment)
{
	if (attachment->credit_bytes == 0 || !channel_has_room_for_output(channel))
		return false;
	size_t most = FRAME_PAYLOAD_MAX_BYTES - LOG_HEADER_BYTES;
	if (most > attachment->credit_bytes)
		most = attachment->credit_bytes;
	uint8_t *to = channel_begin(channel);
	int output;
	uint64_t offset;
	size_t count = output_log_read(&attachment->command->log, &attachment->cursor, to + LOG_HEADER_BYTES, most,
				       &output, &offset);
	if (count == 0)
		return false;
	write_u64(to, offset);
	to[8] = (uint8_t)(CREDIT_STDOUT + output);
	channel_commit(channel, FRAME_LOG, 0, attachment->id, LOG_HEADER_BYTES + count);
	attachment->credit_bytes -= (uint32_t)count;
	return true;
}

static bool pump_end(struct attachments *attachments, struct attachment *attachment)
{
	const struct kept_command *command = attachment->command;
	if (!channel_has_room_for_answer(attachments->channel))
		return false;
	if (command == NULL) {
		channel_send_error(attachments->channel, FRAME_ERROR, attachment->id, ENOENT, "the command was forgotten");
		release(attachments, attachment);
		return true;
	}
	if (!kept_is_ended(command) || attachment->cursor.offset < command->log.next_offset)
		return false;
	channel_send_exit(attachments->channel, attachment->id, command->status);
	release(attachments, attachment);
	return true;
}

// Tells each command how far its slowest attachment is.
void attachments_note_slowest(struct attachments *attachments)
{
	for (uint32_t i = 0; i < attachments->kept->used; i++) {
		struct kept_command *command = attachments->kept->slots[i];
		if (command != NULL)
			command->slowest_position = command->was_attached ? UINT64_MAX : 0;
	}
	for (uint32_t i = 0; i < attachments->used; i++) {
		const struct attachment *attachment = &attachments->slots[i];
		struct kept_command *command = attachment->id == 0 ? NULL : attachment->command;
		if (command != NULL && attachment->cursor.position < command->slowest_position)
			command->slowest_position = attachment->cursor.position;
	}
}

bool attachments_pump(struct attachments *attachments)
{
	bool progress = false;
	for (uint32_t i = 0; i < attachments->used; i++) {
		struct attachment *attachment = &attachments->slots[i];
		if (attachment->id == 0)
			continue;
		if (attachment->command != NULL) {
			progress |= pump_input(attachment);
			progress |= input_answer(&attachment->in, attachments->channel, attachment->id);
			progress |= pump_log(attachments->channel, attachment);
		}
		progress |= pump_end(attachments, attachment);
	}
	return progress;
}

void attachments_end(struct attachments *attachments)
{
	for (uint32_t i = attachments->used; i-- > 0;)
		if (attachments->slots[i].id != 0)
			release(attachments, &attachments->slots[i]);
}
