// From a RUN message to a running process with our ends of its standard streams.
#ifndef OFFSHOOT_SPAWN_H
#define OFFSHOOT_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "run-request.h"

struct spawned {
	pid_t pid;
	bool is_terminal; // in_fd and out_fds[0] are the same terminal's master
	int in_fd;	  // non-blocking, as the others; -1: no stdin
	int out_fds[2];	  // stdout and stderr; the second is -1 on a terminal
	int error;	  // when it does not run: why, and the text that says so
	char text[512];
};

// True when the program runs.
bool spawn(struct spawned *spawned, const struct run_request *request, bool has_stdin);

#endif
