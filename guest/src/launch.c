// The child is made by vfork: it borrows our memory until exec, so a start costs no copy of page tables, the error of
// a failed exec is simply there, and a program that is STARTED really runs. The price: between vfork and exec only
// system calls, no library state, and nothing that can block for long. Changing the user makes the borrowed memory
// undumpable, so that user cannot look into it through the child.
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "builtins/builtins.h"
#include "environment.h"

static void reset_signals(void)
{
	// Only SIGPIPE is ever ignored here; nothing has a handler (signals come by signalfd).
	signal(SIGPIPE, SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

// The raw calls: those of the C library reach for other threads first.
static int become(const struct account *account)
{
	if (geteuid() != 0 && geteuid() == account->uid)
		return 0;
	if (syscall(SYS_setgroups, account->groups_count, account->groups) != 0 || syscall(SYS_setgid, account->gid) != 0)
		return errno;
	return syscall(SYS_setuid, account->uid) != 0 ? errno : 0;
}

static int enter(const struct launch *launch)
{
	if (launch->cwd[0] != '\0')
		return chdir(launch->cwd) != 0 ? errno : 0;
	return chdir(launch->account->home) != 0 && chdir("/") != 0 ? errno : 0;
}

// Returns only with an error, the one execvp would give.
static int execute(const struct launch *launch)
{
	const char *program = launch->program;
	if (strchr(program, '/') != NULL || program[0] == '\0') {
		execve(program, launch->argv, launch->environment);
		return errno;
	}
	const char *path = environment_get(launch->environment, "PATH");
	int error = ENOENT;
	while (path != NULL && *path != '\0') {
		size_t folder_bytes = strcspn(path, ":");
		size_t program_bytes = strlen(program);
		char file[PATH_MAX];
		if (folder_bytes > 0 && folder_bytes + program_bytes + 2 <= sizeof file) {
			memcpy(file, path, folder_bytes);
			file[folder_bytes] = '/';
			memcpy(file + folder_bytes + 1, program, program_bytes + 1);
			execve(file, launch->argv, launch->environment);
			if (errno == EACCES)
				error = EACCES;
			else if (errno != ENOENT && errno != ENOTDIR)
				return errno;
		}
		path += folder_bytes + (path[folder_bytes] == ':');
	}
	return error;
}

static void take_place(const struct launch *launch)
{
	setsid();
	reset_signals();
	for (int fd = 0; fd < 3; fd++)
		if (dup2(launch->fds[fd], fd) < 0)
			_exit(127);
	if (launch->is_terminal && ioctl(0, TIOCSCTTY, 0) != 0)
		_exit(127);
	// Ours close by themselves; this is for what whoever started us left open.
	syscall(SYS_close_range, 3, ~0U, 0);
}

__attribute__((noinline)) static void be_child(const struct launch *launch, volatile struct launched *result)
{
	take_place(launch);

	result->step = "user";
	result->error = become(launch->account);
	if (result->error == 0) {
		result->step = "cwd";
		result->error = enter(launch);
	}
	if (result->error == 0) {
		result->step = "program";
		result->error = execute(launch);
	}
	_exit(127);
}

__attribute__((noinline)) static pid_t start(const struct launch *launch, volatile struct launched *result)
{
	pid_t pid = vfork();
	if (pid == 0)
		be_child(launch, result);
	return pid;
}

struct launched launch(const struct launch *launch)
{
	volatile struct launched result = {.pid = -1, .error = 0, .step = "fork"};
	pid_t pid = start(launch, &result);
	if (pid < 0)
		result.error = errno;
	return (struct launched){.pid = pid, .error = result.error, .step = result.step};
}

struct launched launch_builtin(const struct launch *launch)
{
	if (!builtin_exists(launch->program))
		return (struct launched){.pid = -1, .error = ENOSYS, .step = "builtin"};
	int placed[2];
	if (pipe2(placed, O_CLOEXEC) != 0)
		return (struct launched){.pid = -1, .error = errno, .step = "pipe"};
	pid_t pid = fork();
	int fork_error = errno;
	if (pid == 0) {
		take_place(launch);
		int error = become(launch->account);
		_exit(error != 0 ? builtin_fail("user", error) : builtin_run(launch->program, launch->argv));
	}
	// Closed when the child has a group of its own: a kill before that would miss it, and its end of input look like END.
	char nothing;
	close(placed[1]);
	while (pid > 0 && read(placed[0], &nothing, 1) < 0 && errno == EINTR) {
	}
	close(placed[0]);
	return (struct launched){.pid = pid, .error = pid < 0 ? fork_error : 0, .step = pid < 0 ? "fork" : "builtin"};
}
