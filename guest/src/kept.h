// Kept commands outlive the host's connection. Their output goes into a log that drops its oldest bytes, so a kept
// command waits for no reader, unless it was started with RUN_WAIT and a reader is attached. The host chooses an id for
// each. It can attach by that id several times at once, and again after a lost connection.
//
//     running ──exit, outputs read to their end──► ended ──FORGET──► free        (FORGET kills a running one first)
//
// When there is no room for another command, the one that ended first and that no attachment reads is forgotten. The
// agent signals a process group only until its main process has exited.
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
	int fd; // -1: ended and closed
	bool ready;
	size_t left_bytes; // bytes in the pipe when the command exited; the agent still reads them
};

struct kept_command {
	char id[KEPT_ID_MAX_BYTES + 1];
	char label[KEPT_LABEL_MAX_BYTES + 1];
	pid_t pid;
	bool is_terminal;
	bool waits_for_readers; // else the log drops what they have not read
	bool exited;
	int status;
	uint64_t started_ms, ended_ms; // milliseconds since 1970; 0: not ended
	int in_fd;		       // -1: closed
	bool in_ready;
	struct kept_output out[2];
	struct output_log log;
	size_t log_max_bytes;
	bool was_attached;
	uint32_t attachments_count;
	uint64_t slowest_position; // of the attachments in the log; UINT64_MAX: none is attached any more
};

struct kept {
	int poll_fd;
	struct drains *drains;
	size_t grown_bytes; // of all logs, beyond the first KEPT_LOG_FIRST_BYTES of each
	uint32_t used;	   // slots from here on are free
	struct kept_command *slots[KEPT_MAX];
};

// Starts the requested command. Returns 0 and sets `pid`, or returns an error number and sets `text`.
int kept_run(struct kept *kept, bool has_stdin, const struct run_request *request, pid_t *pid, char *text,
	     size_t text_bytes);
// Returns NULL when no kept command has this id.
struct kept_command *kept_find(struct kept *kept, const uint8_t *id, size_t id_bytes);
bool kept_is_ended(const struct kept_command *command);
void kept_signal(struct kept_command *command, int signal);
void kept_close_input(struct kept_command *command);
void kept_forget(struct kept *kept, struct kept_command *command);
// Which commands a KEPT frame asks for.
struct kept_selection {
	uint32_t first_slot;
	pid_t pid;	   // 0: any
	const uint8_t *id; // `id_bytes` 0: any
	size_t id_bytes;
};

// Writes entries of KEPT_LIST into one frame. Sets `next_slot` to the slot of the first one that has no room, or to 0.
size_t kept_list(const struct kept *kept, const struct kept_selection *selection, uint8_t *to, uint32_t *next_slot);

void kept_exited(struct kept *kept, pid_t pid, int status);
void kept_wake(struct kept *kept, uint32_t source, uint32_t index);
// Reads once from each ready output. True when there may be more to read.
bool kept_pump(struct kept *kept);
// Forgets all kept commands.
void kept_end(struct kept *kept);

#endif
