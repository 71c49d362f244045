// The live commands: one stream each, with a credit window for stdin, stdout and stderr.
//
// A command is live from RUN until its EXIT is sent. Its slot is free when id is 0. Until it has exited it owns a
// process group of its pid; after that the pid may be anybody's and is never signalled again.
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
	int fd; // -1: ended
	bool ready;
	uint32_t credit_bytes;
	size_t left_bytes; // what stood in the pipe when the command exited: that much is still sent
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
	uint32_t turn; // who is served first, so that nobody always is
	struct command slots[STREAMS_MAX];
};

bool commands_have(const struct commands *commands, uint32_t id);
// Starts what is asked for and answers STARTED or FAILED.
void commands_run(struct commands *commands, uint32_t id, bool has_stdin, const struct run_request *request);
// The next four ignore an id that is not live: it may just have ended. False: the frame breaks the protocol.
bool commands_stdin(struct commands *commands, const struct frame *frame);
bool commands_credit(struct commands *commands, const struct frame *frame);
bool commands_kill(struct commands *commands, const struct frame *frame);
bool commands_resize(struct commands *commands, const struct frame *frame);

void commands_exited(struct commands *commands, pid_t pid, int status);
void commands_wake(struct commands *commands, uint32_t source, uint32_t index);
// Moves what can move, at most one frame for each direction of each command; true when anything did.
bool commands_pump(struct commands *commands);
// Ends all: their process groups are killed, nothing is answered.
void commands_end(struct commands *commands);

#endif
