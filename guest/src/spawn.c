#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "environment.h"
#include "launch.h"
#include "terminal.h"

// The command's ends of its standard streams; the agent's are in `spawned`. A terminal is one descriptor, theirs[0].
struct ends {
	int theirs[3];
};

static void close_all(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void close_ours(struct spawned *spawned)
{
	close_all(&spawned->in_fd, 1);
	close_all(spawned->out_fds, 2);
}

// Only the agent's end is non-blocking: programs expect blocking standard streams.
static int make_pipe(int *read_end, int *write_end, int *ours)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) != 0)
		return errno;
	*read_end = fds[0];
	*write_end = fds[1];
	return fcntl(*ours, F_SETFL, O_NONBLOCK) != 0 ? errno : 0;
}

static int make_pipes(struct ends *ends, struct spawned *spawned, bool has_stdin)
{
	int error = 0;
	if (has_stdin)
		error = make_pipe(&ends->theirs[0], &spawned->in_fd, &spawned->in_fd);
	else if ((ends->theirs[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
		error = errno;
	for (int i = 0; i < 2 && error == 0; i++)
		error = make_pipe(&spawned->out_fds[i], &ends->theirs[1 + i], &spawned->out_fds[i]);
	return error;
}

static int make_terminal(struct ends *ends, struct spawned *spawned, const struct run_request *request, uid_t owner)
{
	struct terminal terminal;
	int error = terminal_open(&terminal, request->rows, request->columns, owner);
	if (error != 0)
		return error;
	ends->theirs[0] = terminal.slave;
	spawned->out_fds[0] = terminal.master;
	// A second descriptor, so that input and output can be closed separately.
	spawned->in_fd = fcntl(terminal.master, F_DUPFD_CLOEXEC, 0);
	return spawned->in_fd < 0 ? errno : 0;
}

static bool fail(struct spawned *spawned, int error, const char *what, const char *which)
{
	close_ours(spawned);
	spawned->error = error;
	snprintf(spawned->text, sizeof spawned->text, "%s%s%.200s: %s", what, which[0] == '\0' ? "" : " ", which,
		 strerror(error));
	return false;
}

static struct launched start(const struct run_request *request, const struct account *account, const struct ends *ends)
{
	bool is_terminal = (request->options & RUN_TERMINAL) != 0;
	struct launch what = {
		.account = account,
		.program = request->program,
		.argv = request->argv,
		.environment = environment_build(account, request->env, request->env_count),
		.cwd = request->cwd,
		.fds = {ends->theirs[0], ends->theirs[is_terminal ? 0 : 1], ends->theirs[is_terminal ? 0 : 2]},
		.is_terminal = is_terminal,
		.is_owner = (request->options & RUN_OWNER) != 0,
	};
	return (request->options & RUN_BUILTIN) != 0 ? launch_builtin(&what) : launch(&what);
}

bool spawn(struct spawned *spawned, const struct run_request *request, bool has_stdin)
{
	static struct account account;
	*spawned = (struct spawned){.pid = -1, .in_fd = -1, .out_fds = {-1, -1}};
	int error = account_find(request->user, &account);
	if (error != 0) {
		fail(spawned, error, "", "");
		snprintf(spawned->text, sizeof spawned->text, "no such user: %.200s", request->user);
		return false;
	}

	struct ends ends = {{-1, -1, -1}};
	spawned->is_terminal = (request->options & RUN_TERMINAL) != 0;
	error = spawned->is_terminal ? make_terminal(&ends, spawned, request, account.uid)
				     : make_pipes(&ends, spawned, has_stdin);
	struct launched launched = {.pid = -1};
	if (error == 0)
		launched = start(request, &account, &ends);
	close_all(ends.theirs, 3);
	if (error != 0)
		return fail(spawned, error, spawned->is_terminal ? "terminal" : "pipes", "");
	if (launched.error != 0) {
		const char *which = strcmp(launched.step, "cwd") == 0	 ? request->cwd
				    : strcmp(launched.step, "user") == 0 ? account.name
									 : request->program;
		return fail(spawned, launched.error, launched.step, which);
	}
	spawned->pid = launched.pid;
	return true;
}
