// Starts the command of a RUN message, with pipes or a terminal for its standard streams.
#ifndef OFFSHOOT_SPAWN_H
#define OFFSHOOT_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "run-request.h"

struct spawned {
	pid_t pid;
	bool is_terminal; // in_fd and out_fds[0] are then both the terminal's master
	int in_fd;	  // the agent's end, non-blocking; -1: no stdin
	int out_fds[2];	  // the agent's ends of stdout and stderr, non-blocking; the second is -1 on a terminal
	int error;	  // why the program does not run; `text` says it in words
	char text[512];
};

// Returns true when the program runs.
bool spawn(struct spawned *spawned, const struct run_request *request, bool has_stdin);

#endif
