// The guest agent's event loop: the channel to the host, signals, and the pipes of commands.
#ifndef OFFSHOOT_AGENT_H
#define OFFSHOOT_AGENT_H

#include "refresh.h"

struct agent_setup {
	int channel_fd;  // the virtio port, open and non-blocking; -1: there is none
	int listener_fd; // a listening Unix socket that serves one host at a time; -1: there is none
	struct refresh_target refresh;
};

// Blocks the signals that the agent reads by signalfd. Call it before any process or thread starts.
void agent_block_signals(void);

// Serves the host until a signal asks the agent to end, then kills all commands. The agent treats every such signal as
// a power-off (busybox sends SIGTERM to reboot, SIGUSR2 to power off): QEMU runs with -no-reboot.
void agent_serve(const struct agent_setup *setup);

#endif
