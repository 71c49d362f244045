#include "commands.h"

#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bytes.h"
#include "event-sources.h"
#include "spawn.h"
#include "terminal.h"

// How long these frames may wait for others, so that one write carries them together.
enum {
	STARTED_DELAY_MS = 50,
	END_DELAY_MS = 2,
};

static struct command *find(struct commands *commands, uint32_t id)
{
	for (uint32_t i = 0; i < commands->used; i++)
		if (commands->slots[i].id == id)
			return &commands->slots[i];
	return NULL;
}

static void close_input(struct command *command)
{
	if (command->in_fd >= 0)
		close(command->in_fd);
	command->in_fd = -1;
	input_close(&command->in);
}

// Children may still hold a pipe, so it goes to the drains. A terminal ends with its command: the kernel hangs up on
// them.
static void close_output(struct commands *commands, struct command *command, struct command_output *out)
{
	if (out->fd >= 0 && command->is_terminal)
		close(out->fd);
	else if (out->fd >= 0)
		drains_take(commands->drains, out->fd);
	out->fd = -1;
}

static void release(struct commands *commands, struct command *command)
{
	close_input(command);
	for (int i = 0; i < 2; i++)
		close_output(commands, command, &command->out[i]);
	command->id = 0;
	while (commands->used > 0 && commands->slots[commands->used - 1].id == 0)
		commands->used--;
}

static void watch(struct commands *commands, struct command *command)
{
	uint32_t index = (uint32_t)(command - commands->slots);
	source_watch(commands->poll_fd, EPOLL_CTL_ADD, command->out[0].fd, EPOLLIN, SOURCE_STDOUT, index);
	if (command->out[1].fd >= 0)
		source_watch(commands->poll_fd, EPOLL_CTL_ADD, command->out[1].fd, EPOLLIN, SOURCE_STDERR, index);
	if (command->in_fd >= 0)
		source_watch(commands->poll_fd, EPOLL_CTL_ADD, command->in_fd, EPOLLOUT, SOURCE_STDIN, index);
}

static void occupy_slot(struct commands *commands, struct command *command, uint32_t id, const struct spawned *spawned)
{
	*command = (struct command){
		.id = id,
		.pid = spawned->pid,
		.in_fd = spawned->in_fd,
		.in_ready = true,
		.is_terminal = spawned->is_terminal,
		.out = {{.fd = spawned->out_fds[0], .credit_bytes = WINDOW_BYTES},
			{.fd = spawned->out_fds[1], .credit_bytes = WINDOW_BYTES}},
	};
	input_open(&command->in);
	uint32_t index = (uint32_t)(command - commands->slots);
	if (index >= commands->used)
		commands->used = index + 1;
	watch(commands, command);
}

bool commands_have(const struct commands *commands, uint32_t id)
{
	for (uint32_t i = 0; i < commands->used; i++)
		if (commands->slots[i].id == id)
			return true;
	return false;
}

void commands_run(struct commands *commands, uint32_t id, bool has_stdin, const struct run_request *request)
{
	struct command *command = find(commands, 0);
	if (command == NULL && commands->used < STREAMS_MAX)
		command = &commands->slots[commands->used];
	if (command == NULL) {
		channel_send_error(commands->channel, FRAME_FAILED, id, EAGAIN, "too many commands");
		return;
	}
	struct spawned spawned;
	if (!spawn(&spawned, request, has_stdin)) {
		channel_send_error(commands->channel, FRAME_FAILED, id, spawned.error, spawned.text);
		return;
	}
	occupy_slot(commands, command, id, &spawned);
	uint8_t pid[4];
	write_u32(pid, (uint32_t)spawned.pid);
	// Without stdin the host has nothing to send before the first output, so STARTED may travel with that.
	if (has_stdin)
		channel_send(commands->channel, FRAME_STARTED, 0, id, pid, sizeof pid);
	else
		channel_send_delayed(commands->channel, FRAME_STARTED, 0, id, pid, sizeof pid, STARTED_DELAY_MS);
}

bool commands_stdin(struct commands *commands, const struct frame *frame)
{
	struct command *command = frame->stream == 0 ? NULL : find(commands, frame->stream);
	if (command == NULL)
		return frame->stream != 0;
	enum input_taken taken = input_take(&command->in, frame, command->in_fd >= 0);
	if (taken == INPUT_NO_MEMORY) {
		// The input would be lost without the command noticing.
		close_input(command);
		kill(-command->pid, SIGKILL);
	}
	return taken != INPUT_BEYOND_WINDOW;
}

bool commands_credit(struct commands *commands, const struct frame *frame)
{
	if (frame->payload_bytes != 5 || frame->stream == 0)
		return false;
	uint8_t target = frame->payload[0];
	uint32_t bytes = read_u32(frame->payload + 1);
	if (target != CREDIT_STDOUT && target != CREDIT_STDERR)
		return false;
	struct command *command = find(commands, frame->stream);
	if (command == NULL)
		return true;
	struct command_output *out = &command->out[target == CREDIT_STDOUT ? 0 : 1];
	if (bytes > WINDOW_MAX_BYTES - out->credit_bytes)
		return false;
	out->credit_bytes += bytes;
	return true;
}

bool commands_kill(struct commands *commands, const struct frame *frame)
{
	if (frame->payload_bytes != 1 || frame->stream == 0 || frame->payload[0] < 1 || frame->payload[0] > 64)
		return false;
	struct command *command = find(commands, frame->stream);
	if (command != NULL && !command->exited)
		terminal_kill(command->is_terminal ? command->out[0].fd : -1, command->pid, frame->payload[0]);
	return true;
}

bool commands_resize(struct commands *commands, const struct frame *frame)
{
	if (frame->payload_bytes != 4 || frame->stream == 0)
		return false;
	struct command *command = find(commands, frame->stream);
	if (command != NULL && command->is_terminal)
		terminal_resize(command->out[0].fd, read_u16(frame->payload), read_u16(frame->payload + 2));
	return true;
}

void commands_exited(struct commands *commands, pid_t pid, int status)
{
	for (uint32_t i = 0; i < commands->used; i++) {
		struct command *command = &commands->slots[i];
		if (command->id == 0 || command->exited || command->pid != pid)
			continue;
		command->exited = true;
		command->status = status;
		close_input(command);
		for (int k = 0; k < 2; k++) {
			struct command_output *out = &command->out[k];
			out->left_bytes = output_left_bytes(out->fd, command->is_terminal);
			out->ready = true;
		}
		return;
	}
}

void commands_wake(struct commands *commands, uint32_t source, uint32_t index)
{
	struct command *command = &commands->slots[index];
	if (source == SOURCE_STDIN)
		command->in_ready = true;
	else
		command->out[source == SOURCE_STDOUT ? 0 : 1].ready = true;
}

static bool pump_input(struct commands *commands, struct command *command)
{
	bool progress = false;
	if (command->in_fd >= 0 && command->in_ready) {
		enum input_written written = input_write(&command->in, command->in_fd);
		progress = written == INPUT_MOVED;
		command->in_ready = written != INPUT_BLOCKED;
		command->in.must_report_close = written == INPUT_BROKEN;
	}
	if (command->in_fd >= 0 && (command->in.must_report_close || input_is_done(&command->in))) {
		close_input(command);
		progress = true;
	}
	return input_answer(&command->in, commands->channel, command->id) || progress;
}

static bool pump_output(struct commands *commands, struct command *command, int which)
{
	struct command_output *out = &command->out[which];
	if (out->fd < 0)
		return false;
	if (!channel_has_room_for_output(commands->channel))
		return false;
	uint8_t type = which == 0 ? FRAME_STDOUT : FRAME_STDERR;
	if (command->exited && out->left_bytes == 0) {
		channel_send(commands->channel, type, FLAG_END, command->id, NULL, 0);
		close_output(commands, command, out);
		return true;
	}
	if (!out->ready || out->credit_bytes == 0)
		return false;

	size_t most = out->credit_bytes < FRAME_PAYLOAD_MAX_BYTES ? out->credit_bytes : FRAME_PAYLOAD_MAX_BYTES;
	if (command->exited && out->left_bytes < most)
		most = out->left_bytes;
	ssize_t got = read(out->fd, channel_begin(commands->channel), most);
	if (got > 0) {
		channel_commit(commands->channel, type, 0, command->id, (size_t)got);
		out->credit_bytes -= (uint32_t)got;
		if (command->exited)
			out->left_bytes -= (size_t)got;
		return true;
	}
	if (got < 0 && errno == EINTR)
		return true;
	if (got < 0 && errno == EIO && command->is_terminal && !command->exited) {
		// No process has the terminal open now. Another one may still open it.
		out->ready = false;
		return false;
	}
	if (got < 0 && errno == EAGAIN) {
		// Another process may have read from the pipe, so that it holds less than at the exit.
		out->ready = false;
		out->left_bytes = 0;
		return command->exited;
	}
	// An exiting process closes its outputs shortly before waitpid returns it: EXIT will follow at once.
	channel_send_delayed(commands->channel, type, FLAG_END, command->id, NULL, 0, END_DELAY_MS);
	close(out->fd);
	out->fd = -1;
	return true;
}

static bool pump_exit(struct commands *commands, struct command *command)
{
	if (!command->exited || command->out[0].fd >= 0 || command->out[1].fd >= 0 ||
	    !channel_has_room_for_answer(commands->channel))
		return false;
	channel_send_exit(commands->channel, command->id, command->status);
	release(commands, command);
	return true;
}

bool commands_pump(struct commands *commands)
{
	bool progress = false;
	uint32_t count = commands->used;
	uint32_t first = count == 0 ? 0 : commands->first_served++ % count;
	for (uint32_t i = 0; i < count; i++) {
		struct command *command = &commands->slots[(first + i) % count];
		if (command->id == 0)
			continue;
		progress |= pump_input(commands, command);
		progress |= pump_output(commands, command, 0);
		progress |= pump_output(commands, command, 1);
		progress |= pump_exit(commands, command);
	}
	return progress;
}

void commands_end(struct commands *commands)
{
	for (uint32_t i = commands->used; i-- > 0;) {
		struct command *command = &commands->slots[i];
		if (command->id == 0)
			continue;
		if (!command->exited)
			kill(-command->pid, SIGKILL);
		release(commands, command);
	}
}
