#include "agent.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bytes.h"
#include "channel.h"
#include "commands.h"
#include "file.h"
#include "sources.h"

enum { EVENTS_AT_ONCE = 64 };

struct agent {
	const struct agent_setup *setup;
	int poll_fd;
	int signal_fd;
	bool has_host;       // a HELLO of our version came and nothing went wrong since
	bool has_next_host;  // on the listener, while one is still connected
	uint8_t message_type; // of the message that is being put together; 0: none
	uint32_t message_stream;
	size_t message_bytes;
	bool message_too_long;
	uint8_t message[MESSAGE_MAX_BYTES];
	struct channel channel;
	struct commands commands;
	struct drains drains;
};

static void forget_host(struct agent *agent)
{
	agent->has_host = false;
	agent->message_type = 0;
	commands_end(&agent->commands);
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
	agent->has_host = read_u16(frame->payload) == PROTOCOL_VERSION;

	uint8_t answer[NONCE_BYTES + 4 + BOOT_ID_BYTES + 1];
	memcpy(answer, frame->payload + VERSION_BYTES, NONCE_BYTES);
	write_u16(answer + NONCE_BYTES, PROTOCOL_VERSION);
	write_u16(answer + NONCE_BYTES + 2, STREAMS_MAX);
	char *boot_id = (char *)answer + NONCE_BYTES + 4;
	memset(boot_id, '0', BOOT_ID_BYTES);
	file_read("/proc/sys/kernel/random/boot_id", boot_id, BOOT_ID_BYTES + 1);
	channel_send(&agent->channel, FRAME_HELLO_ACK, 0, 0, answer, NONCE_BYTES + 4 + BOOT_ID_BYTES);
}

static void on_refresh(struct agent *agent)
{
	if (agent->message_too_long) {
		channel_send_error(&agent->channel, FRAME_ERROR, agent->message_stream, E2BIG, "refresh: too long");
		return;
	}
	struct refreshed done = refresh(&agent->setup->refresh, agent->message, agent->message_bytes);
	if (done.error == 0) {
		channel_send(&agent->channel, FRAME_REFRESHED, 0, agent->message_stream, NULL, 0);
		return;
	}
	char text[128];
	snprintf(text, sizeof text, "refresh: %s: %s", done.step, strerror(done.error));
	channel_send_error(&agent->channel, FRAME_ERROR, agent->message_stream, done.error, text);
}

static void on_run(struct agent *agent, bool has_stdin)
{
	if (agent->message_too_long)
		channel_send_error(&agent->channel, FRAME_FAILED, agent->message_stream, E2BIG, "command: too long");
	else if (!commands_run(&agent->commands, agent->message_stream, has_stdin, agent->message, agent->message_bytes))
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
	if (frame->type == FRAME_REFRESH)
		on_refresh(agent);
	else
		on_run(agent, (frame->flags & FLAG_END) == 0);
}

// Before a snapshot: everything on disk, nothing in memory that the disk has too, but for what is needed at once.
static void on_quiesce(struct agent *agent, const struct frame *frame)
{
	if (agent->setup->refresh.is_system) {
		sync();
		file_write("/proc/sys/vm/drop_caches", "3");
	}
	refresh_prepare(&agent->setup->refresh);
	channel_send(&agent->channel, FRAME_QUIESCED, 0, frame->stream, NULL, 0);
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
		on_quiesce(agent, frame);
		break;
	case FRAME_STDIN:
		is_good = commands_stdin(&agent->commands, frame);
		break;
	case FRAME_CREDIT:
		is_good = commands_credit(&agent->commands, frame);
		break;
	case FRAME_KILL:
		is_good = commands_kill(&agent->commands, frame);
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
		if (decoded == DECODED_FRAME)
			on_frame(agent, &frame);
		else if (agent->has_host)
			reset(agent, EPROTO, "not a frame");
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
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
		commands_exited(&agent->commands, pid, status);
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
	case SOURCE_DRAIN:
		drains_wake(&agent->drains, index);
		return false;
	}
	return false;
}

static bool step(struct agent *agent)
{
	bool progress = channel_fill(&agent->channel);
	progress |= handle_frames(agent);
	if (agent->setup->listener_fd >= 0)
		progress |= take_next_host(agent);
	progress |= commands_pump(&agent->commands);
	progress |= drains_pump(&agent->drains);
	// Room that comes back is a reason to go round again: no edge will tell of it.
	bool was_full = !channel_has_room_for_output(&agent->channel);
	channel_flush(&agent->channel);
	return progress || (was_full && channel_has_room_for_output(&agent->channel));
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
	agent->commands.poll_fd = agent->drains.poll_fd = agent->poll_fd;
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
	agent.channel.fd = setup->channel_fd;
	agent.channel.readable = agent.channel.writable = setup->channel_fd >= 0;
	agent.commands.channel = &agent.channel;
	agent.commands.drains = &agent.drains;
	open_sources(&agent);
	take_signals(&agent);

	bool is_ending = false;
	bool busy = true;
	while (!is_ending) {
		struct epoll_event events[EVENTS_AT_ONCE];
		int count = epoll_wait(agent.poll_fd, events, EVENTS_AT_ONCE, busy ? 0 : -1);
		for (int i = 0; i < count; i++)
			is_ending |= take_event(&agent, &events[i]);
		busy = step(&agent);
	}
	commands_end(&agent.commands);
}
