// Live commands. Each has one stream, with a credit window for each of stdin, stdout and stderr.
//
// A command is live from RUN until its EXIT is sent. A slot is free when its id is 0. The agent signals the process
// group only until the main process has exited: after that the kernel may give its pid to another process.
#ifndef OFFSHOOT_COMMANDS_H
#define OFFSHOOT_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "channel.h"
#include "drains.h"
#include "input.h"
#include "protocol.h"
#include "run-request.h"

struct command_output {
	int fd; // -1: ended and closed
	bool ready;
	uint32_t credit_bytes;
	size_t left_bytes; // bytes in the pipe when the command exited; the agent still sends them
};

struct command {
	uint32_t id;
	pid_t pid;
	bool exited;
	int status;
	int in_fd; // -1: closed
	bool in_ready;
	bool is_terminal;
	struct input in;
	struct command_output out[2]; // stdout, stderr
};

struct commands {
	int poll_fd;
	struct channel *channel;
	struct drains *drains;
	uint32_t used; // slots from here on are free
	uint32_t first_served; // the slot that is served first; moves on each round, for fairness
	struct command slots[STREAMS_MAX];
};

bool commands_have(const struct commands *commands, uint32_t id);
// Starts the requested command and answers STARTED or FAILED.
void commands_run(struct commands *commands, uint32_t id, bool has_stdin, const struct run_request *request);
// These four ignore a stream that is not live: it may just have ended. They return false when the frame breaks the
// protocol.
bool commands_stdin(struct commands *commands, const struct frame *frame);
bool commands_credit(struct commands *commands, const struct frame *frame);
bool commands_kill(struct commands *commands, const struct frame *frame);
bool commands_resize(struct commands *commands, const struct frame *frame);

void commands_exited(struct commands *commands, pid_t pid, int status);
void commands_wake(struct commands *commands, uint32_t source, uint32_t index);
// Moves at most one frame in each direction of each command. True when any byte moved.
bool commands_pump(struct commands *commands);
// Kills the process groups of all commands and frees their slots. Sends no answer.
void commands_end(struct commands *commands);

#endif
