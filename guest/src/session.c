#include "session.h"

#include <errno.h>
#include <string.h>

#include "bytes.h"
#include "file.h"
#include "hold.h"
#include "memory.h"
#include "tcp-sockets.h"

void session_end(struct session *session)
{
	session->has_host = false;
	session->message_type = 0;
	commands_end(&session->commands);
	attachments_end(&session->attachments);
	tcp_streams_end(&session->tcp_streams);
	tcp_listeners_end(&session->tcp_listeners);
}

void session_reset(struct session *session, int error, const char *why)
{
	session_end(session);
	channel_drop_output(&session->channel);
	channel_send_error(&session->channel, FRAME_RESET, 0, error, why);
	decoder_lose(&session->channel.decoder);
}

static void on_hello(struct session *session, const struct frame *frame)
{
	enum { VERSION_BYTES = 2 };
	if (frame->payload_bytes < VERSION_BYTES + NONCE_BYTES) {
		session_reset(session, EPROTO, "HELLO is too short");
		return;
	}
	session_end(session);
	channel_drop_output(&session->channel);
	// A host of a later version then sends HELLO again, with our version.
	uint16_t version = read_u16(frame->payload);
	session->has_host = version >= PROTOCOL_MIN_VERSION && version <= PROTOCOL_VERSION;

	uint8_t answer[NONCE_BYTES + 4 + BOOT_ID_BYTES + 1];
	memcpy(answer, frame->payload + VERSION_BYTES, NONCE_BYTES);
	write_u16(answer + NONCE_BYTES, session->has_host ? version : PROTOCOL_VERSION);
	write_u16(answer + NONCE_BYTES + 2, STREAMS_MAX);
	char *boot_id = (char *)answer + NONCE_BYTES + 4;
	memset(boot_id, '0', BOOT_ID_BYTES);
	file_read("/proc/sys/kernel/random/boot_id", boot_id, BOOT_ID_BYTES + 1);
	channel_send(&session->channel, FRAME_HELLO_ACK, 0, 0, answer, NONCE_BYTES + 4 + BOOT_ID_BYTES);
}

static bool is_live(struct session *session, uint32_t stream)
{
	return commands_have(&session->commands, stream) || attachments_find(&session->attachments, stream) != NULL ||
	       tcp_streams_find(&session->tcp_streams, stream) != NULL ||
	       tcp_listeners_find(&session->tcp_listeners, stream) != NULL;
}

static void run_kept(struct session *session, uint32_t stream, bool has_stdin, const struct run_request *request)
{
	char text[512];
	pid_t pid;
	int error = kept_run(&session->kept, has_stdin, request, &pid, text, sizeof text);
	if (error != 0) {
		channel_send_error(&session->channel, FRAME_FAILED, stream, error, text);
		return;
	}
	uint8_t answer[4];
	write_u32(answer, (uint32_t)pid);
	channel_send(&session->channel, FRAME_STARTED, 0, stream, answer, sizeof answer);
}

// Returns false when the message breaks the protocol.
static bool run(struct session *session, uint32_t stream, bool has_stdin)
{
	static struct run_request request;
	if (stream == 0 || is_live(session, stream))
		return false;
	int error = run_request_parse(&request, session->message, session->message_bytes);
	if (error == EPROTO)
		return false;
	if (error != 0)
		channel_send_error(&session->channel, FRAME_FAILED, stream, error,
				   error == E2BIG ? "command: too long" : "command: options contradict each other");
	else if ((request.options & RUN_KEEP) != 0)
		run_kept(session, stream, has_stdin, &request);
	else
		commands_run(&session->commands, stream, has_stdin, &request);
	return true;
}

static void on_run(struct session *session, bool has_stdin)
{
	// The agent waits for the exec of a program, which a held machine never does.
	if (hold_is_taken())
		channel_send_error(&session->channel, FRAME_FAILED, session->message_stream, EAGAIN, "the machine is held");
	else if (session->message_too_long)
		channel_send_error(&session->channel, FRAME_FAILED, session->message_stream, E2BIG, "command: too long");
	else if (!run(session, session->message_stream, has_stdin))
		session_reset(session, EPROTO, "bad RUN");
}

// RUN and REFRESH come in one or more frames, and no other frame may come between them.
static void on_message_part(struct session *session, const struct frame *frame)
{
	if (session->message_type == 0) {
		session->message_type = frame->type;
		session->message_stream = frame->stream;
		session->message_bytes = 0;
		session->message_too_long = false;
	}
	if (session->message_bytes + frame->payload_bytes > MESSAGE_MAX_BYTES) {
		session->message_too_long = true;
	} else if (frame->payload_bytes > 0) {
		memcpy(session->message + session->message_bytes, frame->payload, frame->payload_bytes);
		session->message_bytes += frame->payload_bytes;
	}
	if ((frame->flags & FLAG_MORE) != 0)
		return;
	session->message_type = 0;
	if (frame->type == FRAME_RUN)
		on_run(session, (frame->flags & FLAG_END) == 0);
	else if (session->message_too_long)
		channel_send_error(&session->channel, FRAME_ERROR, frame->stream, E2BIG, "refresh: too long");
	else
		machine_refresh(&session->machine, &session->channel, frame->stream, session->message, session->message_bytes);
}

// A frame that opens the stream of a TCP connection or of a listener.
static bool on_tcp(struct session *session, const struct frame *frame)
{
	if (frame->stream == 0 || is_live(session, frame->stream))
		return false;
	if (!hold_is_taken()) {
		if (frame->type == FRAME_LISTEN)
			return tcp_listeners_listen(&session->tcp_listeners, frame);
		if (frame->type == FRAME_ACCEPT)
			return tcp_listeners_accept(&session->tcp_listeners, &session->tcp_streams, frame);
		return tcp_streams_dial(&session->tcp_streams, frame);
	}
	// These calls take locks of sockets, which a held process may own.
	channel_send_error(&session->channel, FRAME_FAILED, frame->stream, EAGAIN, "the machine is held");
	return true;
}

static void on_listeners(struct session *session, const struct frame *frame)
{
	static uint16_t ports[LISTENERS_MAX];
	size_t count = 0;
	int error = hold_is_taken() ? EAGAIN : tcp_sockets_list_listeners(ports, &count);
	if (error != 0) {
		channel_send_error(&session->channel, FRAME_ERROR, frame->stream, error, "listeners: not listed");
		return;
	}
	uint8_t *to = channel_begin(&session->channel);
	for (size_t i = 0; i < count; i++)
		write_u16(to + 2 * i, ports[i]);
	channel_commit(&session->channel, FRAME_LISTENER_LIST, 0, frame->stream, 2 * count);
}

static void on_memory(struct session *session, const struct frame *frame)
{
	uint64_t total = 0, available = 0;
	int error = memory_read(&total, &available);
	if (error != 0) {
		channel_send_error(&session->channel, FRAME_ERROR, frame->stream, error, "memory: not read");
		return;
	}
	uint8_t *to = channel_begin(&session->channel);
	write_u64(to, total);
	write_u64(to + 8, available);
	channel_commit(&session->channel, FRAME_MEMORY_USAGE, 0, frame->stream, 16);
}

// KEPT: empty, or `first slot u16, pid u32 (0: any), id (empty: any)`.
static void on_kept(struct session *session, const struct frame *frame)
{
	enum { SELECTION_BYTES = 6 };
	struct kept_selection selection = {0};
	if (frame->payload_bytes >= SELECTION_BYTES) {
		selection.first_slot = read_u16(frame->payload);
		selection.pid = (pid_t)read_u32(frame->payload + 2);
		selection.id = frame->payload + SELECTION_BYTES;
		selection.id_bytes = frame->payload_bytes - SELECTION_BYTES;
	}
	uint8_t *to = channel_begin(&session->channel);
	uint32_t next_slot;
	size_t list_bytes = kept_list(&session->kept, &selection, to, &next_slot);
	if (next_slot != 0) {
		write_u16(to + list_bytes, (uint16_t)next_slot);
		list_bytes += 2;
	}
	channel_commit(&session->channel, FRAME_KEPT_LIST, 0, frame->stream, list_bytes);
}

// SIGNAL: `signal u8, id`. FORGET: `id`. Returns false when the frame breaks the protocol.
static bool on_kept_order(struct session *session, const struct frame *frame)
{
	size_t id_at = frame->type == FRAME_SIGNAL ? 1 : 0;
	if (frame->payload_bytes <= id_at || frame->payload_bytes > id_at + KEPT_ID_MAX_BYTES ||
	    (id_at == 1 && (frame->payload[0] < 1 || frame->payload[0] > 64)))
		return false;
	struct kept_command *command = kept_find(&session->kept, frame->payload + id_at, frame->payload_bytes - id_at);
	if (command == NULL) {
		channel_send_error(&session->channel, FRAME_ERROR, frame->stream, ENOENT, "no such kept command");
		return true;
	}
	if (frame->type == FRAME_SIGNAL) {
		kept_signal(command, frame->payload[0]);
	} else {
		attachments_lose(&session->attachments, command);
		kept_forget(&session->kept, command);
	}
	channel_send(&session->channel, FRAME_DONE, 0, frame->stream, NULL, 0);
	return true;
}

// A frame of a command, an attachment, a TCP connection or a listener. A stream that is not live may just have ended: its frames
// are ignored. Returns false when the frame breaks the protocol.
static bool on_stream_frame(struct session *session, const struct frame *frame)
{
	struct attachment *attachment = frame->stream == 0 ? NULL : attachments_find(&session->attachments, frame->stream);
	struct tcp_stream *tcp = frame->stream == 0 ? NULL : tcp_streams_find(&session->tcp_streams, frame->stream);
	struct tcp_listener *listener = frame->stream == 0 ? NULL : tcp_listeners_find(&session->tcp_listeners, frame->stream);
	if (tcp != NULL)
		return tcp_streams_take(&session->tcp_streams, tcp, frame);
	if (listener != NULL)
		return tcp_listeners_take(&session->tcp_listeners, listener, frame);
	switch (frame->type) {
	case FRAME_STDIN:
		return attachment != NULL ? attachments_stdin(attachment, frame) : commands_stdin(&session->commands, frame);
	case FRAME_CREDIT:
		return attachment != NULL ? attachments_credit(attachment, frame)
					  : commands_credit(&session->commands, frame);
	case FRAME_KILL:
		return attachment != NULL ? attachments_kill(attachment, frame) : commands_kill(&session->commands, frame);
	case FRAME_RESIZE:
		return attachment != NULL ? attachments_resize(attachment, frame)
					  : commands_resize(&session->commands, frame);
	default:
		if (attachment != NULL)
			attachments_detach(&session->attachments, attachment);
		return frame->stream != 0;
	}
}

void session_take_frame(struct session *session, const struct frame *frame)
{
	if (frame->type == FRAME_HELLO) {
		on_hello(session, frame);
		return;
	}
	if (!session->has_host) {
		session_reset(session, EPROTO, "no HELLO of this protocol version");
		return;
	}
	if (session->message_type != 0 && (frame->type != session->message_type || frame->stream != session->message_stream)) {
		session_reset(session, EPROTO, "a message was interrupted");
		return;
	}
	bool is_good = true;
	switch (frame->type) {
	case FRAME_PING:
		channel_send(&session->channel, FRAME_PONG, 0, frame->stream, frame->payload, frame->payload_bytes);
		break;
	case FRAME_REFRESH:
	case FRAME_RUN:
		on_message_part(session, frame);
		break;
	case FRAME_QUIESCE:
		machine_quiesce(&session->machine, &session->channel, frame->stream);
		break;
	case FRAME_HOLD:
		machine_hold(&session->machine, &session->channel, frame->stream);
		break;
	case FRAME_RELEASE:
		machine_release(&session->machine, &session->channel, frame);
		break;
	case FRAME_STDIN:
	case FRAME_CREDIT:
	case FRAME_KILL:
	case FRAME_RESIZE:
	case FRAME_DETACH:
		is_good = on_stream_frame(session, frame);
		break;
	case FRAME_ATTACH:
		is_good = !is_live(session, frame->stream) && attachments_attach(&session->attachments, frame);
		break;
	case FRAME_DIAL:
	case FRAME_CONNECT:
	case FRAME_LISTEN:
	case FRAME_ACCEPT:
		is_good = on_tcp(session, frame);
		break;
	case FRAME_LISTENERS:
		on_listeners(session, frame);
		break;
	case FRAME_MEMORY:
		on_memory(session, frame);
		break;
	case FRAME_KEPT:
		on_kept(session, frame);
		break;
	case FRAME_SIGNAL:
	case FRAME_FORGET:
		is_good = on_kept_order(session, frame);
		break;
	default:
		channel_send_error(&session->channel, FRAME_ERROR, frame->stream, ENOSYS, "unsupported frame type");
	}
	if (!is_good)
		session_reset(session, EPROTO, "frame breaks the protocol");
}
