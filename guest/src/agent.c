#include "agent.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event-sources.h"
#include "hold.h"
#include "session.h"

enum { EVENTS_AT_ONCE = 64 };

struct agent {
	const struct agent_setup *setup;
	int poll_fd;
	int signal_fd;
	bool has_next_host; // a host waits on the listener while another one is connected
	struct session session;
};

static bool handle_frames(struct agent *agent)
{
	bool progress = false;
	while (channel_has_room_for_answer(&agent->session.channel)) {
		struct frame frame;
		enum decoded decoded = channel_next(&agent->session.channel, &frame);
		if (decoded == DECODED_NOTHING)
			break;
		progress = true;
		hold_begin_work();
		if (decoded == DECODED_FRAME)
			session_take_frame(&agent->session, &frame);
		else if (agent->session.has_host)
			session_reset(&agent->session, EPROTO, "not a frame");
		hold_end_work();
	}
	return progress;
}

// Like QEMU on a virtio port: drops bytes that the dead host has not read, and still serves the requests that it has
// sent.
static bool release_dead_host(struct channel *channel)
{
	bool made_room = channel->out_start < channel->out_end;
	channel_drop_output(channel);
	if (channel->in_start == channel->in_end) {
		close(channel->fd);
		channel->fd = -1;
	}
	return made_room;
}

// With a listener only. True when a new host is connected, or when dropped output made room for answers.
static bool accept_next_host(struct agent *agent)
{
	struct channel *channel = &agent->session.channel;
	bool made_room = channel->fd >= 0 && channel->ended && release_dead_host(channel);
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

// Reaps every child; as init the agent also inherits orphans. True when a signal asks the agent to end.
static bool take_signals(struct agent *agent)
{
	bool is_ending = false;
	struct signalfd_siginfo info;
	while (read(agent->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
		if (info.ssi_signo != SIGCHLD)
			is_ending = true;
	int status;
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
		commands_exited(&agent->session.commands, pid, status);
		kept_exited(&agent->session.kept, pid, status);
	}
	return is_ending;
}

static bool take_event(struct agent *agent, const struct epoll_event *event)
{
	enum source source = (enum source)(event->data.u64 >> 32);
	uint32_t index = (uint32_t)event->data.u64;
	switch (source) {
	case SOURCE_CHANNEL:
		agent->session.channel.readable = agent->session.channel.writable = true;
		// read() on a virtio port says 0 while no host is connected. This edge may come from the next host.
		agent->session.channel.ended = agent->session.channel.ended && agent->setup->listener_fd >= 0;
		return false;
	case SOURCE_LISTENER:
		agent->has_next_host = true;
		return false;
	case SOURCE_SIGNAL:
		return take_signals(agent);
	case SOURCE_STDIN:
	case SOURCE_STDOUT:
	case SOURCE_STDERR:
		commands_wake(&agent->session.commands, source, index);
		return false;
	case SOURCE_KEPT_STDIN:
	case SOURCE_KEPT_STDOUT:
	case SOURCE_KEPT_STDERR:
		kept_wake(&agent->session.kept, source, index);
		return false;
	case SOURCE_TCP:
		tcp_streams_wake(&agent->session.tcp_streams, index);
		return false;
	case SOURCE_TCP_LISTENER:
		tcp_listeners_wake(&agent->session.tcp_listeners, index);
		return false;
	case SOURCE_DRAIN:
		drains_wake(&agent->session.drains, index);
		return false;
	}
	return false;
}

// Moves bytes between the channel and commands, logs and TCP connections. True when any moved.
static bool pump(struct agent *agent)
{
	bool progress = commands_pump(&agent->session.commands);
	attachments_note_slowest(&agent->session.attachments);
	progress |= kept_pump(&agent->session.kept);
	progress |= attachments_pump(&agent->session.attachments);
	progress |= tcp_streams_pump(&agent->session.tcp_streams);
	progress |= tcp_listeners_pump(&agent->session.tcp_listeners);
	return progress;
}

static bool step(struct agent *agent)
{
	bool progress = channel_fill(&agent->session.channel);
	progress |= handle_frames(agent);
	if (agent->setup->listener_fd >= 0)
		progress |= accept_next_host(agent);
	// A held process may own the lock of a pipe: the agent would wait for it.
	if (!hold_is_taken())
		progress |= pump(agent);
	// epoll reports no event when the output buffer gets room again, so the loop must run once more.
	bool was_full = !channel_has_room_for_output(&agent->session.channel);
	if (channel_delay_ms(&agent->session.channel) <= 0)
		channel_flush(&agent->session.channel);
	progress |= was_full && channel_has_room_for_output(&agent->session.channel);
	// Drains come last, because no host waits for them.
	return (!hold_is_taken() && drains_pump(&agent->session.drains)) || progress;
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
	agent->session.commands.poll_fd = agent->session.kept.poll_fd = agent->session.drains.poll_fd = agent->session.tcp_streams.poll_fd = agent->session.tcp_listeners.poll_fd = agent->poll_fd;
	source_watch(agent->poll_fd, EPOLL_CTL_ADD, agent->signal_fd, EPOLLIN, SOURCE_SIGNAL, 0);
	if (agent->setup->listener_fd >= 0)
		source_watch(agent->poll_fd, EPOLL_CTL_ADD, agent->setup->listener_fd, EPOLLIN, SOURCE_LISTENER, 0);
	else
		source_watch(agent->poll_fd, EPOLL_CTL_ADD, agent->session.channel.fd, EPOLLIN | EPOLLOUT, SOURCE_CHANNEL, 0);
}

void agent_serve(const struct agent_setup *setup)
{
	static struct agent agent;
	struct session *session = &agent.session;
	agent.setup = setup;
	session->machine.target = &setup->refresh;
	session->channel.fd = setup->channel_fd;
	session->channel.readable = session->channel.writable = setup->channel_fd >= 0;
	session->commands.channel = &session->channel;
	session->commands.drains = session->kept.drains = &session->drains;
	session->attachments.channel = session->tcp_streams.channel = session->tcp_listeners.channel = &session->channel;
	session->attachments.kept = &session->kept;
	open_sources(&agent);
	take_signals(&agent);

	bool is_ending = false;
	bool busy = true;
	while (!is_ending) {
		struct epoll_event events[EVENTS_AT_ONCE];
		int wait_ms = busy ? 0 : channel_delay_ms(&session->channel);
		int count = epoll_wait(agent.poll_fd, events, EVENTS_AT_ONCE, wait_ms);
		for (int i = 0; i < count; i++)
			is_ending |= take_event(&agent, &events[i]);
		busy = step(&agent);
	}
	session_end(session);
	kept_end(&session->kept);
}
