// vfork makes the child, which shares the agent's memory until exec. So a start copies no page tables, the agent sees
// the errno of a failed exec, and STARTED means that the program runs. The child may therefore only make system calls
// between vfork and exec: it must not change library state or block for long. When it changes its user, the kernel
// makes the shared memory undumpable, so that user cannot read it through the child.
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
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
	// The agent ignores SIGPIPE only, and has no handlers (it reads signals by signalfd).
	signal(SIGPIPE, SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

// Raw system calls: the C library's functions would change all threads of the agent.
static int switch_user(const struct account *account)
{
	if (geteuid() != 0 && geteuid() == account->uid)
		return 0;
	if (syscall(SYS_setgroups, account->groups_count, account->groups) != 0 || syscall(SYS_setgid, account->gid) != 0)
		return errno;
	return syscall(SYS_setuid, account->uid) != 0 ? errno : 0;
}

// Files that the process makes belong to the account. The kernel takes root's rights over files away with the effective
// user; the process takes them back.
static int own_files(const struct account *account)
{
	if (syscall(SYS_setresgid, -1, account->gid, -1) != 0 || syscall(SYS_setresuid, -1, account->uid, -1) != 0)
		return errno;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
	if (syscall(SYS_capget, &header, sets) != 0)
		return errno;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		sets[i].effective = sets[i].permitted;
	return syscall(SYS_capset, &header, sets) != 0 ? errno : 0;
}

static int enter_folder(const struct launch *launch)
{
	if (launch->cwd[0] != '\0')
		return chdir(launch->cwd) != 0 ? errno : 0;
	return chdir(launch->account->home) != 0 && chdir("/") != 0 ? errno : 0;
}

// Returns only when it fails, with the error that execvp would give.
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

static void set_up_process(const struct launch *launch)
{
	setsid();
	reset_signals();
	for (int fd = 0; fd < 3; fd++)
		if (dup2(launch->fds[fd], fd) < 0)
			_exit(127);
	if (launch->is_terminal && ioctl(0, TIOCSCTTY, 0) != 0)
		_exit(127);
	// The agent's own descriptors are close-on-exec. This closes descriptors that the agent inherited.
	syscall(SYS_close_range, 3, ~0U, 0);
}

__attribute__((noinline)) static void run_child(const struct launch *launch, volatile struct launched *result)
{
	set_up_process(launch);

	result->step = "user";
	result->error = switch_user(launch->account);
	if (result->error == 0) {
		result->step = "cwd";
		result->error = enter_folder(launch);
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
		run_child(launch, result);
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
	int group_pipe[2];
	if (pipe2(group_pipe, O_CLOEXEC) != 0)
		return (struct launched){.pid = -1, .error = errno, .step = "pipe"};
	pid_t pid = fork();
	int fork_error = errno;
	if (pid == 0) {
		set_up_process(launch);
		int error = launch->is_owner ? own_files(launch->account) : switch_user(launch->account);
		builtin_takes_over = launch->is_owner;
		_exit(error != 0 ? builtin_fail("user", error) : builtin_run(launch->program, launch->argv));
	}
	// Waits until the child has its own process group, which closes this pipe: a KILL before that would miss the child,
	// and watch would take the end of its stdin as END.
	char nothing;
	close(group_pipe[1]);
	while (pid > 0 && read(group_pipe[0], &nothing, 1) < 0 && errno == EINTR) {
	}
	close(group_pipe[0]);
	return (struct launched){.pid = pid, .error = pid < 0 ? fork_error : 0, .step = pid < 0 ? "fork" : "builtin"};
}
