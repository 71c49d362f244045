#include "kept.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bytes.h"
#include "event-sources.h"
#include "spawn.h"
#include "terminal.h"

enum {
	LIST_ENTRY_BYTES = 44,
	LIST_NEXT_BYTES = 2,
	READ_BYTES = 64 * 1024,
	// More than the headers of one read, or of one window.
	LOG_HEADERS_BYTES = 4096,
	LOG_GROWTH = 4,
	LOG_SMALLEST_BYTES = 64,
};

static uint64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool has_id(const struct kept_command *command, const uint8_t *id, size_t id_bytes)
{
	return strlen(command->id) == id_bytes && memcmp(command->id, id, id_bytes) == 0;
}

struct kept_command *kept_find(struct kept *kept, const uint8_t *id, size_t id_bytes)
{
	for (uint32_t i = 0; i < kept->used; i++)
		if (kept->slots[i] != NULL && has_id(kept->slots[i], id, id_bytes))
			return kept->slots[i];
	return NULL;
}

// The slot of the command that ended first and that nobody reads; `used` when there is none.
static uint32_t find_dispensable(const struct kept *kept)
{
	uint32_t found = kept->used;
	for (uint32_t i = 0; i < kept->used; i++) {
		const struct kept_command *command = kept->slots[i];
		if (command == NULL || !kept_is_ended(command) || command->attachments_count > 0)
			continue;
		if (found == kept->used || command->ended_ms < kept->slots[found]->ended_ms)
			found = i;
	}
	return found;
}

static bool forget_dispensable(struct kept *kept)
{
	uint32_t slot = find_dispensable(kept);
	if (slot == kept->used)
		return false;
	kept_forget(kept, kept->slots[slot]);
	return true;
}

// A free slot, KEPT_MAX when there is none.
static uint32_t find_free(struct kept *kept)
{
	for (;;) {
		for (uint32_t i = 0; i < kept->used; i++)
			if (kept->slots[i] == NULL)
				return i;
		if (kept->used < KEPT_MAX || !forget_dispensable(kept))
			return kept->used;
	}
}

static size_t grown(size_t ring_bytes)
{
	return ring_bytes > KEPT_LOG_FIRST_BYTES ? ring_bytes - KEPT_LOG_FIRST_BYTES : 0;
}

// Makes room to grow logs by so many bytes, if it can.
static bool make_room(struct kept *kept, size_t bytes)
{
	while (bytes > KEPT_LOGS_GROWN_MAX_BYTES - kept->grown_bytes)
		if (!forget_dispensable(kept))
			return false;
	return true;
}

static void resize_log(struct kept *kept, struct kept_command *command, size_t bytes)
{
	size_t old = command->log.ring_bytes;
	if (output_log_resize(&command->log, bytes))
		kept->grown_bytes += grown(bytes) - grown(old);
}

// Grows a log before it would drop bytes of the next read. Without memory it stays as it is.
static void grow_log(struct kept *kept, struct kept_command *command)
{
	size_t old = command->log.ring_bytes;
	size_t used = (size_t)(command->log.end - command->log.start);
	if (old == command->log_max_bytes || used + READ_BYTES + LOG_HEADERS_BYTES <= old)
		return;
	size_t wanted = old * LOG_GROWTH < command->log_max_bytes ? old * LOG_GROWTH : command->log_max_bytes;
	if (make_room(kept, grown(wanted) - grown(old)))
		resize_log(kept, command, wanted);
}

// A command that has ended writes nothing more.
static void trim_log(struct kept *kept, struct kept_command *command)
{
	size_t used = (size_t)(command->log.end - command->log.start);
	resize_log(kept, command, used < LOG_SMALLEST_BYTES ? LOG_SMALLEST_BYTES : used);
}

static void watch(struct kept *kept, const struct kept_command *command, uint32_t index)
{
	source_watch(kept->poll_fd, EPOLL_CTL_ADD, command->out[0].fd, EPOLLIN, SOURCE_KEPT_STDOUT, index);
	if (command->out[1].fd >= 0)
		source_watch(kept->poll_fd, EPOLL_CTL_ADD, command->out[1].fd, EPOLLIN, SOURCE_KEPT_STDERR, index);
	if (command->in_fd >= 0)
		source_watch(kept->poll_fd, EPOLL_CTL_ADD, command->in_fd, EPOLLOUT, SOURCE_KEPT_STDIN, index);
}

static int refuse(int error, const char *why, char *text, size_t text_bytes)
{
	snprintf(text, text_bytes, "%s", why);
	return error;
}

int kept_run(struct kept *kept, bool has_stdin, const struct run_request *request, pid_t *pid, char *text,
	     size_t text_bytes)
{
	if (kept_find(kept, (const uint8_t *)request->kept_id, strlen(request->kept_id)) != NULL)
		return refuse(EEXIST, "a kept command has this id", text, text_bytes);
	uint32_t slot = find_free(kept);
	if (slot == KEPT_MAX)
		return refuse(EAGAIN, "too many kept commands: forget one", text, text_bytes);
	struct kept_command *command = calloc(1, sizeof *command);
	if (command == NULL || !output_log_open(&command->log, KEPT_LOG_FIRST_BYTES)) {
		free(command);
		return refuse(ENOMEM, "no memory for another kept command", text, text_bytes);
	}
	struct spawned spawned;
	if (!spawn(&spawned, request, has_stdin)) {
		output_log_close(&command->log);
		free(command);
		return refuse(spawned.error, spawned.text, text, text_bytes);
	}
	kept->slots[slot] = command;
	if (slot == kept->used)
		kept->used++;
	command->log_max_bytes = request->log_bytes;
	snprintf(command->id, sizeof command->id, "%s", request->kept_id);
	snprintf(command->label, sizeof command->label, "%s", request->label);
	command->pid = *pid = spawned.pid;
	command->is_terminal = spawned.is_terminal;
	command->waits_for_readers = (request->options & RUN_WAIT) != 0;
	command->started_ms = now_ms();
	command->in_fd = spawned.in_fd;
	command->in_ready = true;
	command->out[0].fd = spawned.out_fds[0];
	command->out[1].fd = spawned.out_fds[1];
	watch(kept, command, slot);
	return 0;
}

void kept_close_input(struct kept_command *command)
{
	if (command->in_fd >= 0)
		close(command->in_fd);
	command->in_fd = -1;
}

// Children may still hold a pipe, so it goes to the drains. A terminal ends with its command.
static void close_output(struct kept *kept, struct kept_command *command, struct kept_output *out)
{
	if (out->fd >= 0 && command->is_terminal)
		close(out->fd);
	else if (out->fd >= 0)
		drains_take(kept->drains, out->fd);
	out->fd = -1;
}

bool kept_is_ended(const struct kept_command *command)
{
	return command->exited && command->out[0].fd < 0 && command->out[1].fd < 0;
}

void kept_signal(struct kept_command *command, int signal)
{
	if (!command->exited)
		terminal_kill(command->is_terminal ? command->out[0].fd : -1, command->pid, signal);
}

void kept_forget(struct kept *kept, struct kept_command *command)
{
	kept_signal(command, SIGKILL);
	kept_close_input(command);
	for (int i = 0; i < 2; i++)
		close_output(kept, command, &command->out[i]);
	kept->grown_bytes -= grown(command->log.ring_bytes);
	output_log_close(&command->log);
	for (uint32_t i = 0; i < kept->used; i++)
		if (kept->slots[i] == command)
			kept->slots[i] = NULL;
	while (kept->used > 0 && kept->slots[kept->used - 1] == NULL)
		kept->used--;
	free(command);
}

static size_t list_entry(const struct kept_command *command, uint8_t *to)
{
	bool by_signal = command->exited && WIFSIGNALED(command->status);
	size_t id_bytes = strlen(command->id), label_bytes = strlen(command->label);
	to[0] = (uint8_t)id_bytes;
	to[1] = (uint8_t)label_bytes;
	to[2] = kept_is_ended(command);
	to[3] = command->is_terminal;
	to[4] = command->exited && !by_signal ? (uint8_t)WEXITSTATUS(command->status) : 0;
	to[5] = by_signal ? (uint8_t)WTERMSIG(command->status) : 0;
	write_u16(to + 6, (uint16_t)(label_bytes >> 8));
	write_u32(to + 8, (uint32_t)command->pid);
	write_u64(to + 12, command->started_ms);
	write_u64(to + 20, command->ended_ms);
	write_u64(to + 28, command->log.oldest_offset);
	write_u64(to + 36, command->log.next_offset);
	memcpy(to + LIST_ENTRY_BYTES, command->id, id_bytes);
	memcpy(to + LIST_ENTRY_BYTES + id_bytes, command->label, label_bytes);
	return LIST_ENTRY_BYTES + id_bytes + label_bytes;
}

size_t kept_list(const struct kept *kept, const struct kept_selection *selection, uint8_t *to, uint32_t *next_slot)
{
	enum { ENTRY_MAX_BYTES = LIST_ENTRY_BYTES + KEPT_ID_MAX_BYTES + KEPT_LABEL_MAX_BYTES };
	size_t used = 0;
	*next_slot = 0;
	for (uint32_t i = selection->first_slot; i < kept->used; i++) {
		const struct kept_command *command = kept->slots[i];
		if (command == NULL || (selection->pid != 0 && command->pid != selection->pid) ||
		    (selection->id_bytes != 0 && !has_id(command, selection->id, selection->id_bytes)))
			continue;
		if (used + ENTRY_MAX_BYTES + LIST_NEXT_BYTES > FRAME_PAYLOAD_MAX_BYTES) {
			*next_slot = i;
			break;
		}
		used += list_entry(command, to + used);
	}
	return used;
}

void kept_exited(struct kept *kept, pid_t pid, int status)
{
	for (uint32_t i = 0; i < kept->used; i++) {
		struct kept_command *command = kept->slots[i];
		if (command == NULL || command->exited || command->pid != pid)
			continue;
		command->exited = true;
		command->status = status;
		command->ended_ms = now_ms();
		kept_close_input(command);
		for (int k = 0; k < 2; k++) {
			command->out[k].left_bytes = output_left_bytes(command->out[k].fd, command->is_terminal);
			command->out[k].ready = true;
		}
		return;
	}
}

void kept_wake(struct kept *kept, uint32_t source, uint32_t index)
{
	// The command may have been forgotten since the event.
	struct kept_command *command = kept->slots[index];
	if (command == NULL)
		return;
	if (source == SOURCE_KEPT_STDIN)
		command->in_ready = true;
	else
		command->out[source == SOURCE_KEPT_STDOUT ? 0 : 1].ready = true;
}

// Whether the log would drop bytes that an attachment has not read. Each part that is appended has a header. The last
// window that was sent also stays in the log: a second attachment that comes soon after the first one begins there.
static bool must_wait(const struct kept_command *command, size_t bytes)
{
	const struct output_log *log = &command->log;
	if (!command->waits_for_readers || command->slowest_position == UINT64_MAX)
		return false;
	size_t quarter = log->ring_bytes / 4;
	size_t kept = quarter < WINDOW_BYTES + LOG_HEADERS_BYTES ? quarter : WINDOW_BYTES + LOG_HEADERS_BYTES;
	uint64_t first = command->slowest_position > kept ? command->slowest_position - kept : 0;
	if (first < log->start)
		first = log->start;
	return log->end - first + bytes + LOG_HEADERS_BYTES > log->ring_bytes;
}

static bool pump_output(struct kept *kept, struct kept_command *command, int which)
{
	static uint8_t bytes[READ_BYTES];
	struct kept_output *out = &command->out[which];
	if (out->fd < 0 || !out->ready)
		return false;
	grow_log(kept, command);
	size_t room = command->log.ring_bytes / 4 < sizeof bytes ? command->log.ring_bytes / 4 : sizeof bytes;
	if (must_wait(command, room))
		return false;
	size_t most = command->exited && out->left_bytes < room ? out->left_bytes : room;
	ssize_t got = most == 0 ? 0 : read(out->fd, bytes, most);
	if (got > 0) {
		output_log_append(&command->log, which, bytes, (size_t)got);
		if (command->exited)
			out->left_bytes -= (size_t)got;
		return true;
	}
	if (got < 0 && errno == EINTR)
		return true;
	// EIO: no process has the terminal open now. Another one may still open it.
	bool may_go_on = got < 0 && (errno == EAGAIN || (errno == EIO && command->is_terminal));
	if (may_go_on && !command->exited) {
		out->ready = false;
		return false;
	}
	if (got == 0 && most > 0) {
		close(out->fd);
		out->fd = -1;
	} else {
		close_output(kept, command, out);
	}
	if (kept_is_ended(command))
		trim_log(kept, command);
	return true;
}

bool kept_pump(struct kept *kept)
{
	bool progress = false;
	for (uint32_t i = 0; i < kept->used; i++) {
		struct kept_command *command = kept->slots[i];
		for (int which = 0; which < 2 && command != NULL; which++)
			progress |= pump_output(kept, command, which);
	}
	return progress;
}

void kept_end(struct kept *kept)
{
	while (kept->used > 0)
		kept_forget(kept, kept->slots[kept->used - 1]);
}
