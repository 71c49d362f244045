// Starting one program: its own session, account, environment, working directory and three file descriptors.
#ifndef OFFSHOOT_LAUNCH_H
#define OFFSHOOT_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "account.h"

struct launch {
	const struct account *account;
	const char *program; // with a slash, or looked up in the PATH of the environment
	char *const *argv;
	char *const *environment;
	const char *cwd; // empty: the account's home, or "/" when there is none
	int fds[3];
	bool is_terminal; // fds[0] becomes the controlling terminal
};

struct launched {
	pid_t pid;
	int error;        // 0 when the program runs
	const char *step; // what failed: "user", "cwd", "program"
};

struct launched launch(const struct launch *launch);

// The same for a builtin: a copy of ourselves under that account, without exec. `program` and `argv` are the builtin's.
struct launched launch_builtin(const struct launch *launch);

#endif
