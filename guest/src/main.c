// offshoot-guest: the init process of a microVM when it is PID 1. Otherwise only the agent, on a Unix socket, for
// tests.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"
#include "boot.h"
#include "file.h"
#include "hold.h"

static _Noreturn void run_as_init(void)
{
	agent_block_signals();
	boot();
	int error = hold_prepare();
	if (error != 0)
		dprintf(STDERR_FILENO, "offshoot-guest: hold: %s\n", strerror(error));
	struct agent_setup setup = {
		.channel_fd = boot_open_port(),
		.listener_fd = -1,
		.refresh = {.root = "", .is_system = true},
	};
	agent_serve(&setup);
	boot_end();
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof address.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(address.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 16) != 0)
		return -1;
	return fd;
}

// Kills every process that commands started. This process is their subreaper, so detached ones are its children too.
static void end_descendants(void)
{
	char path[64], children[4096];
	snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
	while (file_read(path, children, sizeof children) > 0) {
		char *rest = children;
		for (char *pid; (pid = strtok_r(rest, " ", &rest)) != NULL;)
			kill(atoi(pid), SIGKILL);
		waitpid(-1, NULL, 0);
	}
}

static int run_on_socket(const char *socket_path, const char *root)
{
	agent_block_signals();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	// When a test is killed, its guest must end too.
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	struct agent_setup setup = {
		.channel_fd = -1,
		.listener_fd = listen_at(socket_path),
		.refresh = {.root = root, .is_system = false},
	};
	if (setup.listener_fd < 0) {
		fprintf(stderr, "offshoot-guest: %s: %s\n", socket_path, strerror(errno));
		return 1;
	}
	agent_serve(&setup);
	end_descendants();
	unlink(socket_path);
	return 0;
}

int main(int argc, char **argv)
{
	if (getpid() == 1)
		run_as_init();
	if (argc == 3 && strcmp(argv[1], "--socket") == 0)
		return run_on_socket(argv[2], NULL);
	if (argc == 5 && strcmp(argv[1], "--socket") == 0 && strcmp(argv[3], "--root") == 0)
		return run_on_socket(argv[2], argv[4]);
	fprintf(stderr, "usage: offshoot-guest --socket PATH [--root FOLDER]\n"
			"  Serves the agent on a Unix socket. Writes identity files below FOLDER, or none without it.\n");
	return 2;
}
