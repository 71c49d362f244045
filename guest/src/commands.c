#include "commands.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bytes.h"
#include "environment.h"
#include "launch.h"
#include "run-request.h"
#include "sources.h"

static struct command *find(struct commands *commands, uint32_t id)
{
	for (uint32_t i = 0; i < commands->used; i++)
		if (commands->slots[i].id == id)
			return &commands->slots[i];
	return NULL;
}

static void close_input(struct command_input *in)
{
	if (in->fd >= 0)
		close(in->fd);
	in->fd = -1;
	free(in->waiting);
	in->waiting = NULL;
	in->waiting_start = in->waiting_end = 0;
}

static void release(struct commands *commands, struct command *command)
{
	close_input(&command->in);
	for (int i = 0; i < 2; i++)
		if (command->out[i].fd >= 0)
			drains_take(commands->drains, command->out[i].fd);
	command->id = 0;
	while (commands->used > 0 && commands->slots[commands->used - 1].id == 0)
		commands->used--;
}

// Ours is non-blocking, the command's is not: programs expect blocking standard streams.
static int make_pipe(int ends[2], int ours)
{
	if (pipe2(ends, O_CLOEXEC) != 0)
		return errno;
	return fcntl(ends[ours], F_SETFL, O_NONBLOCK) != 0 ? errno : 0;
}

struct pipes {
	int in[2], out[2], err[2];
};

static void close_pipes(struct pipes *pipes)
{
	int *all = &pipes->in[0];
	for (size_t i = 0; i < sizeof *pipes / sizeof(int); i++)
		if (all[i] >= 0)
			close(all[i]);
}

static int make_pipes(struct pipes *pipes, bool has_stdin)
{
	*pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
	int error = 0;
	if (has_stdin)
		error = make_pipe(pipes->in, 1);
	else if ((pipes->in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
		error = errno;
	if (error == 0)
		error = make_pipe(pipes->out, 0);
	if (error == 0)
		error = make_pipe(pipes->err, 0);
	if (error != 0)
		close_pipes(pipes);
	return error;
}

static void watch(struct commands *commands, struct command *command)
{
	uint32_t index = (uint32_t)(command - commands->slots);
	source_watch(commands->poll_fd, EPOLL_CTL_ADD, command->out[0].fd, EPOLLIN, SOURCE_STDOUT, index);
	source_watch(commands->poll_fd, EPOLL_CTL_ADD, command->out[1].fd, EPOLLIN, SOURCE_STDERR, index);
	if (command->in.fd >= 0)
		source_watch(commands->poll_fd, EPOLL_CTL_ADD, command->in.fd, EPOLLOUT, SOURCE_STDIN, index);
}

static void enlist(struct commands *commands, struct command *command, uint32_t id, pid_t pid,
		   const struct pipes *pipes)
{
	*command = (struct command){
		.id = id,
		.pid = pid,
		.in = {.fd = pipes->in[1], .ready = true, .window_bytes = WINDOW_BYTES},
		.out = {{.fd = pipes->out[0], .credit_bytes = WINDOW_BYTES},
			{.fd = pipes->err[0], .credit_bytes = WINDOW_BYTES}},
	};
	uint32_t index = (uint32_t)(command - commands->slots);
	if (index >= commands->used)
		commands->used = index + 1;
	watch(commands, command);
}

static void fail(struct commands *commands, uint32_t id, int error, const char *what, const char *which)
{
	char text[512];
	snprintf(text, sizeof text, "%s %.200s: %s", what, which, strerror(error));
	channel_send_error(commands->channel, FRAME_FAILED, id, error, text);
}

static void start(struct commands *commands, uint32_t id, bool has_stdin, const struct run_request *request)
{
	struct command *command = find(commands, 0);
	if (command == NULL && commands->used < STREAMS_MAX)
		command = &commands->slots[commands->used];
	if (command == NULL) {
		fail(commands, id, EAGAIN, "too many commands", "");
		return;
	}
	static struct account account;
	int error = account_find(request->user, &account);
	if (error != 0) {
		fail(commands, id, error, "user", request->user);
		return;
	}
	struct pipes pipes;
	error = make_pipes(&pipes, has_stdin);
	if (error != 0) {
		fail(commands, id, error, "pipes", "");
		return;
	}
	struct launch what = {
		.account = &account,
		.argv = request->argv,
		.environment = environment_build(&account, request->env, request->env_count),
		.cwd = request->cwd,
		.fds = {pipes.in[0], pipes.out[1], pipes.err[1]},
	};
	struct launched launched = launch(&what);
	if (launched.error != 0) {
		close_pipes(&pipes);
		const char *which = strcmp(launched.step, "cwd") == 0    ? request->cwd
				    : strcmp(launched.step, "user") == 0 ? account.name
									 : request->argv[0];
		fail(commands, id, launched.error, launched.step, which);
		return;
	}
	close(pipes.in[0]);
	close(pipes.out[1]);
	close(pipes.err[1]);
	enlist(commands, command, id, launched.pid, &pipes);
	uint8_t pid[4];
	write_u32(pid, (uint32_t)launched.pid);
	channel_send(commands->channel, FRAME_STARTED, 0, id, pid, sizeof pid);
}

bool commands_run(struct commands *commands, uint32_t id, bool has_stdin, uint8_t *message, size_t message_bytes)
{
	static struct run_request request;
	if (id == 0 || find(commands, id) != NULL)
		return false;
	int error = run_request_parse(&request, message, message_bytes);
	if (error == EPROTO)
		return false;
	if (error != 0)
		fail(commands, id, error, "command", "");
	else
		start(commands, id, has_stdin, &request);
	return true;
}

static void keep(struct command *command, const uint8_t *bytes, size_t count)
{
	struct command_input *in = &command->in;
	if (in->waiting == NULL)
		in->waiting = malloc(WINDOW_BYTES);
	if (in->waiting == NULL) {
		// Input cannot be kept and must not be lost unnoticed.
		close_input(in);
		kill(-command->pid, SIGKILL);
		return;
	}
	if (in->waiting_end + count > WINDOW_BYTES) {
		memmove(in->waiting, in->waiting + in->waiting_start, in->waiting_end - in->waiting_start);
		in->waiting_end -= in->waiting_start;
		in->waiting_start = 0;
	}
	memcpy(in->waiting + in->waiting_end, bytes, count);
	in->waiting_end += count;
}

bool commands_stdin(struct commands *commands, const struct frame *frame)
{
	struct command *command = frame->stream == 0 ? NULL : find(commands, frame->stream);
	if (command == NULL)
		return frame->stream != 0;
	struct command_input *in = &command->in;
	if (frame->payload_bytes > in->window_bytes)
		return false;
	in->window_bytes -= (uint32_t)frame->payload_bytes;
	if (in->fd < 0)
		return true;
	if (frame->payload_bytes > 0)
		keep(command, frame->payload, frame->payload_bytes);
	in->end_wanted = in->end_wanted || (frame->flags & FLAG_END) != 0;
	return true;
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
	if (bytes > WINDOW_BYTES - out->credit_bytes)
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
		kill(-command->pid, frame->payload[0]);
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
		close_input(&command->in);
		for (int k = 0; k < 2; k++) {
			struct command_output *out = &command->out[k];
			int waiting_bytes = 0;
			if (out->fd >= 0 && ioctl(out->fd, FIONREAD, &waiting_bytes) == 0)
				out->left_bytes = (size_t)waiting_bytes;
			out->ready = true;
		}
		return;
	}
}

void commands_wake(struct commands *commands, uint32_t source, uint32_t index)
{
	struct command *command = &commands->slots[index];
	if (source == SOURCE_STDIN)
		command->in.ready = true;
	else
		command->out[source == SOURCE_STDOUT ? 0 : 1].ready = true;
}

static bool pump_input(struct commands *commands, struct command *command)
{
	struct command_input *in = &command->in;
	bool progress = false;
	if (in->fd >= 0 && in->ready && in->waiting_end > in->waiting_start) {
		ssize_t put = write(in->fd, in->waiting + in->waiting_start, in->waiting_end - in->waiting_start);
		if (put > 0) {
			in->waiting_start += (size_t)put;
			in->taken_bytes += (uint32_t)put;
			if (in->waiting_start == in->waiting_end)
				in->waiting_start = in->waiting_end = 0;
			progress = true;
		} else if (put < 0 && errno == EAGAIN) {
			in->ready = false;
		} else if (put < 0 && errno != EINTR) {
			close_input(in);
			in->closed_unsaid = true;
		}
	}
	if (in->fd >= 0 && in->end_wanted && in->waiting_end == 0) {
		close_input(in);
		progress = true;
	}
	if (in->taken_bytes >= WINDOW_BYTES / 2 && channel_has_room_for_answer(commands->channel)) {
		uint8_t credit[5] = {CREDIT_STDIN};
		write_u32(credit + 1, in->taken_bytes);
		channel_send(commands->channel, FRAME_CREDIT, 0, command->id, credit, sizeof credit);
		in->window_bytes += in->taken_bytes;
		in->taken_bytes = 0;
		progress = true;
	}
	if (in->closed_unsaid && channel_has_room_for_answer(commands->channel)) {
		channel_send(commands->channel, FRAME_STDIN_CLOSED, 0, command->id, NULL, 0);
		in->closed_unsaid = false;
		progress = true;
	}
	return progress;
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
		drains_take(commands->drains, out->fd);
		out->fd = -1;
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
	if (got < 0 && errno == EAGAIN) {
		// Somebody else may have read from the pipe: then there is less than stood there.
		out->ready = false;
		out->left_bytes = 0;
		return command->exited;
	}
	channel_send(commands->channel, type, FLAG_END, command->id, NULL, 0);
	close(out->fd);
	out->fd = -1;
	return true;
}

static bool pump_exit(struct commands *commands, struct command *command)
{
	if (!command->exited || command->out[0].fd >= 0 || command->out[1].fd >= 0 ||
	    !channel_has_room_for_answer(commands->channel))
		return false;
	bool by_signal = WIFSIGNALED(command->status);
	uint8_t how[2] = {
		by_signal ? 0 : (uint8_t)WEXITSTATUS(command->status),
		by_signal ? (uint8_t)WTERMSIG(command->status) : 0,
	};
	channel_send(commands->channel, FRAME_EXIT, 0, command->id, how, sizeof how);
	release(commands, command);
	return true;
}

bool commands_pump(struct commands *commands)
{
	bool progress = false;
	uint32_t count = commands->used;
	uint32_t first = count == 0 ? 0 : commands->turn++ % count;
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
