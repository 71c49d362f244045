// The agent: one loop over the channel, the signals and the pipes of the commands.
#ifndef OFFSHOOT_AGENT_H
#define OFFSHOOT_AGENT_H

#include "refresh.h"

struct agent_setup {
	int channel_fd;  // a virtio port, open and non-blocking; or -1
	int listener_fd; // a listening Unix socket, one host at a time; or -1
	struct refresh_target refresh;
};

// Blocks every signal the agent wants to hear of; before anything is started.
void agent_block_signals(void);

// Serves until a signal asks to end. Commands are killed by then. Whatever the signal (busybox: SIGTERM to reboot, SIGUSR2
// to power off): a machine of ours is never started with a way to come up again.
void agent_serve(const struct agent_setup *setup);

#endif
