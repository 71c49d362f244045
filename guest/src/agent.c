#include "agent.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attachments.h"
#include "bytes.h"
#include "channel.h"
#include "commands.h"
#include "file.h"
#include "hold.h"
#include "kept-requests.h"
#include "listeners.h"
#include "memory.h"
#include "machine-requests.h"
#include "sources.h"
#include "tcp-streams.h"

enum { EVENTS_AT_ONCE = 64 };

struct agent {
	const struct agent_setup *setup;
	int poll_fd;
	int signal_fd;
	bool has_host;       // a HELLO of a version that we speak came and nothing went wrong since
	bool has_next_host;  // on the listener, while one is still connected
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

static void forget_host(struct agent *agent)
{
	agent->has_host = false;
	agent->message_type = 0;
	commands_end(&agent->commands);
	attachments_end(&agent->attachments);
	tcp_streams_end(&agent->tcp_streams);
}

// The host broke the protocol: what it says from here on has no meaning until its next HELLO.
static void reset(struct agent *agent, int error, const char *why)
{
	forget_host(agent);
	channel_drop_output(&agent->channel);
	channel_send_error(&agent->channel, FRAME_RESET, 0, error, why);
	decoder_lose(&agent->channel.decoder);
}

static void on_hello(struct agent *agent, const struct frame *frame)
{
	enum { VERSION_BYTES = 2 };
	if (frame->payload_bytes < VERSION_BYTES + NONCE_BYTES) {
		reset(agent, EPROTO, "HELLO is too short");
		return;
	}
	forget_host(agent);
	channel_drop_output(&agent->channel);
	// A host of a later version says HELLO again, with ours.
	uint16_t version = read_u16(frame->payload);
	agent->has_host = version >= PROTOCOL_MIN_VERSION && version <= PROTOCOL_VERSION;

	uint8_t answer[NONCE_BYTES + 4 + BOOT_ID_BYTES + 1];
	memcpy(answer, frame->payload + VERSION_BYTES, NONCE_BYTES);
	write_u16(answer + NONCE_BYTES, agent->has_host ? version : PROTOCOL_VERSION);
	write_u16(answer + NONCE_BYTES + 2, STREAMS_MAX);
	char *boot_id = (char *)answer + NONCE_BYTES + 4;
	memset(boot_id, '0', BOOT_ID_BYTES);
	file_read("/proc/sys/kernel/random/boot_id", boot_id, BOOT_ID_BYTES + 1);
	channel_send(&agent->channel, FRAME_HELLO_ACK, 0, 0, answer, NONCE_BYTES + 4 + BOOT_ID_BYTES);
}

static bool is_live(struct agent *agent, uint32_t stream)
{
	return commands_have(&agent->commands, stream) || attachments_find(&agent->attachments, stream) != NULL ||
	       tcp_streams_find(&agent->tcp_streams, stream) != NULL;
}

static void run_kept(struct agent *agent, uint32_t stream, bool has_stdin, const struct run_request *request)
{
	char text[512];
	pid_t pid;
	int error = kept_run(&agent->kept, has_stdin, request, &pid, text, sizeof text);
	if (error != 0) {
		channel_send_error(&agent->channel, FRAME_FAILED, stream, error, text);
		return;
	}
	uint8_t answer[4];
	write_u32(answer, (uint32_t)pid);
	channel_send(&agent->channel, FRAME_STARTED, 0, stream, answer, sizeof answer);
}

// False: the message breaks the protocol.
static bool run(struct agent *agent, uint32_t stream, bool has_stdin)
{
	static struct run_request request;
	if (stream == 0 || is_live(agent, stream))
		return false;
	int error = run_request_parse(&request, agent->message, agent->message_bytes);
	if (error == EPROTO)
		return false;
	if (error != 0)
		channel_send_error(&agent->channel, FRAME_FAILED, stream, error,
				   error == E2BIG ? "command: too long" : "command: options do not fit each other");
	else if ((request.options & RUN_KEEP) != 0)
		run_kept(agent, stream, has_stdin, &request);
	else
		commands_run(&agent->commands, stream, has_stdin, &request);
	return true;
}

static void on_run(struct agent *agent, bool has_stdin)
{
	// To start a program is to wait for its exec.
	if (hold_is_taken())
		channel_send_error(&agent->channel, FRAME_FAILED, agent->message_stream, EAGAIN, "the machine is held");
	else if (agent->message_too_long)
		channel_send_error(&agent->channel, FRAME_FAILED, agent->message_stream, E2BIG, "command: too long");
	else if (!run(agent, agent->message_stream, has_stdin))
		reset(agent, EPROTO, "bad RUN");
}

// RUN and REFRESH come in one or more frames, with nothing between them.
static void on_message_part(struct agent *agent, const struct frame *frame)
{
	if (agent->message_type == 0) {
		agent->message_type = frame->type;
		agent->message_stream = frame->stream;
		agent->message_bytes = 0;
		agent->message_too_long = false;
	}
	if (agent->message_bytes + frame->payload_bytes > MESSAGE_MAX_BYTES) {
		agent->message_too_long = true;
	} else if (frame->payload_bytes > 0) {
		memcpy(agent->message + agent->message_bytes, frame->payload, frame->payload_bytes);
		agent->message_bytes += frame->payload_bytes;
	}
	if ((frame->flags & FLAG_MORE) != 0)
		return;
	agent->message_type = 0;
	if (frame->type == FRAME_RUN)
		on_run(agent, (frame->flags & FLAG_END) == 0);
	else if (agent->message_too_long)
		channel_send_error(&agent->channel, FRAME_ERROR, frame->stream, E2BIG, "refresh: too long");
	else
		machine_refresh(&agent->machine, &agent->channel, frame->stream, agent->message, agent->message_bytes);
}

static bool on_dial(struct agent *agent, const struct frame *frame)
{
	if (frame->stream == 0 || is_live(agent, frame->stream))
		return false;
	if (!hold_is_taken())
		return tcp_streams_dial(&agent->tcp_streams, frame);
	// To connect is to have the server's socket locked, which a held process may have done.
	channel_send_error(&agent->channel, FRAME_FAILED, frame->stream, EAGAIN, "the machine is held");
	return true;
}

static void on_listeners(struct agent *agent, const struct frame *frame)
{
	static uint16_t ports[LISTENERS_MAX];
	size_t count = 0;
	int error = hold_is_taken() ? EAGAIN : listeners_list(ports, &count);
	if (error != 0) {
		channel_send_error(&agent->channel, FRAME_ERROR, frame->stream, error, "listeners: not listed");
		return;
	}
	uint8_t *to = channel_begin(&agent->channel);
	for (size_t i = 0; i < count; i++)
		write_u16(to + 2 * i, ports[i]);
	channel_commit(&agent->channel, FRAME_LISTENER_LIST, 0, frame->stream, 2 * count);
}

static void on_memory(struct agent *agent, const struct frame *frame)
{
	uint64_t total = 0, available = 0;
	int error = memory_read(&total, &available);
	if (error != 0) {
		channel_send_error(&agent->channel, FRAME_ERROR, frame->stream, error, "memory: not read");
		return;
	}
	uint8_t *to = channel_begin(&agent->channel);
	write_u64(to, total);
	write_u64(to + 8, available);
	channel_commit(&agent->channel, FRAME_MEMORY_USAGE, 0, frame->stream, 16);
}

// Frames of a live stream: a command's, one that follows a kept one, a connection's; an id that is none may just have ended.
static bool on_stream_frame(struct agent *agent, const struct frame *frame)
{
	struct attachment *attachment = frame->stream == 0 ? NULL : attachments_find(&agent->attachments, frame->stream);
	struct tcp_stream *tcp = frame->stream == 0 ? NULL : tcp_streams_find(&agent->tcp_streams, frame->stream);
	if (tcp != NULL)
		return tcp_streams_take(&agent->tcp_streams, tcp, frame);
	switch (frame->type) {
	case FRAME_STDIN:
		return attachment != NULL ? attachments_stdin(attachment, frame) : commands_stdin(&agent->commands, frame);
	case FRAME_CREDIT:
		return attachment != NULL ? attachments_credit(attachment, frame)
					  : commands_credit(&agent->commands, frame);
	case FRAME_KILL:
		return attachment != NULL ? attachments_kill(attachment, frame) : commands_kill(&agent->commands, frame);
	case FRAME_RESIZE:
		return attachment != NULL ? attachments_resize(attachment, frame)
					  : commands_resize(&agent->commands, frame);
	default:
		if (attachment != NULL)
			attachments_detach(&agent->attachments, attachment);
		return frame->stream != 0;
	}
}

static void on_frame(struct agent *agent, const struct frame *frame)
{
	if (frame->type == FRAME_HELLO) {
		on_hello(agent, frame);
		return;
	}
	if (!agent->has_host) {
		reset(agent, EPROTO, "no HELLO of this protocol version");
		return;
	}
	if (agent->message_type != 0 && (frame->type != agent->message_type || frame->stream != agent->message_stream)) {
		reset(agent, EPROTO, "a message was interrupted");
		return;
	}
	bool is_good = true;
	switch (frame->type) {
	case FRAME_PING:
		channel_send(&agent->channel, FRAME_PONG, 0, frame->stream, frame->payload, frame->payload_bytes);
		break;
	case FRAME_REFRESH:
	case FRAME_RUN:
		on_message_part(agent, frame);
		break;
	case FRAME_QUIESCE:
		machine_quiesce(&agent->machine, &agent->channel, frame->stream);
		break;
	case FRAME_HOLD:
		machine_hold(&agent->machine, &agent->channel, frame->stream);
		break;
	case FRAME_RELEASE:
		machine_release(&agent->machine, &agent->channel, frame);
		break;
	case FRAME_STDIN:
	case FRAME_CREDIT:
	case FRAME_KILL:
	case FRAME_RESIZE:
	case FRAME_DETACH:
		is_good = on_stream_frame(agent, frame);
		break;
	case FRAME_ATTACH:
		is_good = !is_live(agent, frame->stream) && attachments_attach(&agent->attachments, frame);
		break;
	case FRAME_DIAL:
		is_good = on_dial(agent, frame);
		break;
	case FRAME_LISTENERS:
		on_listeners(agent, frame);
		break;
	case FRAME_MEMORY:
		on_memory(agent, frame);
		break;
	case FRAME_KEPT:
		kept_answer_list(&agent->kept, &agent->channel, frame->stream);
		break;
	case FRAME_SIGNAL:
	case FRAME_FORGET:
		is_good = kept_answer_order(&agent->kept, &agent->attachments, &agent->channel, frame);
		break;
	default:
		channel_send_error(&agent->channel, FRAME_ERROR, frame->stream, ENOSYS, "unsupported frame type");
	}
	if (!is_good)
		reset(agent, EPROTO, "frame breaks the protocol");
}

static bool handle_frames(struct agent *agent)
{
	bool progress = false;
	while (channel_has_room_for_answer(&agent->channel)) {
		struct frame frame;
		enum decoded decoded = channel_next(&agent->channel, &frame);
		if (decoded == DECODED_NOTHING)
			break;
		progress = true;
		hold_begin_work();
		if (decoded == DECODED_FRAME)
			on_frame(agent, &frame);
		else if (agent->has_host)
			reset(agent, EPROTO, "not a frame");
		hold_end_work();
	}
	return progress;
}

// What the dead host has not read is gone, what it has written still counts: as with QEMU in between.
static bool let_go_of_dead_host(struct channel *channel)
{
	bool made_room = channel->out_start < channel->out_end;
	channel_drop_output(channel);
	if (channel->in_start == channel->in_end) {
		close(channel->fd);
		channel->fd = -1;
	}
	return made_room;
}

// On a listener only. True when there is a new host to read from, or room for the answers to the old one.
static bool take_next_host(struct agent *agent)
{
	struct channel *channel = &agent->channel;
	bool made_room = channel->fd >= 0 && channel->ended && let_go_of_dead_host(channel);
	if (channel->fd >= 0 || !agent->has_next_host)
		return made_room;
	int fd = accept4(agent->setup->listener_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		agent->has_next_host = false;
		return made_room;
	}
	channel->fd = fd;
	channel->readable = channel->writable = true;
	channel->ended = false;
	source_watch(agent->poll_fd, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLOUT, SOURCE_CHANNEL, 0);
	return true;
}

// Every child, also those that were left to us by their dead parents. True when a signal asks to end.
static bool take_signals(struct agent *agent)
{
	bool is_ending = false;
	struct signalfd_siginfo info;
	while (read(agent->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
		if (info.ssi_signo != SIGCHLD)
			is_ending = true;
	int status;
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
		commands_exited(&agent->commands, pid, status);
		kept_exited(&agent->kept, pid, status);
	}
	return is_ending;
}

static bool take_event(struct agent *agent, const struct epoll_event *event)
{
	enum source source = (enum source)(event->data.u64 >> 32);
	uint32_t index = (uint32_t)event->data.u64;
	switch (source) {
	case SOURCE_CHANNEL:
		agent->channel.readable = agent->channel.writable = true;
		// A virtio port whose host went away reads as ended; this edge may be the next host.
		agent->channel.ended = agent->channel.ended && agent->setup->listener_fd >= 0;
		return false;
	case SOURCE_LISTENER:
		agent->has_next_host = true;
		return false;
	case SOURCE_SIGNAL:
		return take_signals(agent);
	case SOURCE_STDIN:
	case SOURCE_STDOUT:
	case SOURCE_STDERR:
		commands_wake(&agent->commands, source, index);
		return false;
	case SOURCE_KEPT_STDIN:
	case SOURCE_KEPT_STDOUT:
	case SOURCE_KEPT_STDERR:
		kept_wake(&agent->kept, source, index);
		return false;
	case SOURCE_TCP:
		tcp_streams_wake(&agent->tcp_streams, index);
		return false;
	case SOURCE_DRAIN:
		drains_wake(&agent->drains, index);
		return false;
	}
	return false;
}

// What commands have written, and what is written to them.
static bool pump(struct agent *agent)
{
	bool progress = commands_pump(&agent->commands);
	progress |= kept_pump(&agent->kept);
	progress |= attachments_pump(&agent->attachments);
	progress |= tcp_streams_pump(&agent->tcp_streams);
	return progress;
}

static bool step(struct agent *agent)
{
	bool progress = channel_fill(&agent->channel);
	progress |= handle_frames(agent);
	if (agent->setup->listener_fd >= 0)
		progress |= take_next_host(agent);
	// Held processes may have the locks of their pipes.
	if (!hold_is_taken())
		progress |= pump(agent);
	// Room that comes back is a reason to go round again: no edge will tell of it.
	bool was_full = !channel_has_room_for_output(&agent->channel);
	if (channel_patience_ms(&agent->channel) <= 0)
		channel_flush(&agent->channel);
	progress |= was_full && channel_has_room_for_output(&agent->channel);
	// What nobody waits for comes last.
	return (!hold_is_taken() && drains_pump(&agent->drains)) || progress;
}

static const int wanted_signals[] = {SIGCHLD, SIGTERM, SIGINT, SIGPWR, SIGUSR1, SIGUSR2};

static void fill_wanted(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < sizeof wanted_signals / sizeof *wanted_signals; i++)
		sigaddset(set, wanted_signals[i]);
}

void agent_block_signals(void)
{
	sigset_t set;
	fill_wanted(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void open_sources(struct agent *agent)
{
	sigset_t set;
	fill_wanted(&set);
	agent->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	agent->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	agent->commands.poll_fd = agent->kept.poll_fd = agent->drains.poll_fd = agent->tcp_streams.poll_fd = agent->poll_fd;
	source_watch(agent->poll_fd, EPOLL_CTL_ADD, agent->signal_fd, EPOLLIN, SOURCE_SIGNAL, 0);
	if (agent->setup->listener_fd >= 0)
		source_watch(agent->poll_fd, EPOLL_CTL_ADD, agent->setup->listener_fd, EPOLLIN, SOURCE_LISTENER, 0);
	else
		source_watch(agent->poll_fd, EPOLL_CTL_ADD, agent->channel.fd, EPOLLIN | EPOLLOUT, SOURCE_CHANNEL, 0);
}

void agent_serve(const struct agent_setup *setup)
{
	static struct agent agent;
	agent.setup = setup;
	agent.machine.target = &setup->refresh;
	agent.channel.fd = setup->channel_fd;
	agent.channel.readable = agent.channel.writable = setup->channel_fd >= 0;
	agent.commands.channel = &agent.channel;
	agent.commands.drains = agent.kept.drains = &agent.drains;
	agent.attachments.channel = agent.tcp_streams.channel = &agent.channel;
	agent.attachments.kept = &agent.kept;
	open_sources(&agent);
	take_signals(&agent);

	bool is_ending = false;
	bool busy = true;
	while (!is_ending) {
		struct epoll_event events[EVENTS_AT_ONCE];
		int wait_ms = busy ? 0 : channel_patience_ms(&agent.channel);
		int count = epoll_wait(agent.poll_fd, events, EVENTS_AT_ONCE, wait_ms);
		for (int i = 0; i < count; i++)
			is_ending |= take_event(&agent, &events[i]);
		busy = step(&agent);
	}
	forget_host(&agent);
	kept_end(&agent.kept);
}
