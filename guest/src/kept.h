// Kept commands: they belong to no connection. Their output goes into a log that drops its oldest bytes, so they never
// wait for a reader; hosts attach to them by the id that a host chose, several at once, and come back after a loss.
//
//     running ──exit, outputs drained──► ended ──FORGET──► free        (FORGET of a running one kills it first)
//
// A slot is free when its id is empty. Until it has exited a command owns a process group of its pid.
#ifndef OFFSHOOT_KEPT_H
#define OFFSHOOT_KEPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "channel.h"
#include "drains.h"
#include "output-log.h"
#include "protocol.h"
#include "run-request.h"

struct kept_output {
	int fd; // -1: ended
	bool ready;
	size_t left_bytes; // what stood in the pipe when the command exited
};

struct kept_command {
	char id[KEPT_ID_MAX_BYTES + 1];
	char label[KEPT_LABEL_MAX_BYTES + 1];
	pid_t pid;
	bool is_terminal;
	bool exited;
	int status;
	uint64_t started_ms, ended_ms; // since 1970; 0: not ended
	int in_fd;		       // -1: closed
	bool in_ready;
	struct kept_output out[2];
	struct output_log log;
};

struct kept {
	int poll_fd;
	struct drains *drains;
	size_t logs_bytes; // of all logs
	struct kept_command slots[KEPT_MAX];
};

// Starts what is asked for. 0 and its pid, or an error number and its text.
int kept_run(struct kept *kept, bool has_stdin, const struct run_request *request, pid_t *pid, char *text,
	     size_t text_bytes);
// NULL when there is none of that id.
struct kept_command *kept_find(struct kept *kept, const uint8_t *id, size_t id_bytes);
bool kept_is_ended(const struct kept_command *command);
void kept_signal(struct kept_command *command, int signal);
void kept_close_input(struct kept_command *command);
void kept_forget(struct kept *kept, struct kept_command *command);
// The payload of KEPT_LIST, which always fits one frame.
size_t kept_list(const struct kept *kept, uint8_t *to);

void kept_exited(struct kept *kept, pid_t pid, int status);
void kept_wake(struct kept *kept, uint32_t source, uint32_t index);
// One read of each ready output; true when there may be more.
bool kept_pump(struct kept *kept);
// Ends all.
void kept_end(struct kept *kept);

#endif
