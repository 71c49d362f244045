// Starting one program: its own session, account, environment, working directory and three file descriptors.
#ifndef OFFSHOOT_LAUNCH_H
#define OFFSHOOT_LAUNCH_H

#include <sys/types.h>

#include "account.h"

struct launch {
	const struct account *account;
	char *const *argv;
	char *const *environment;
	const char *cwd; // empty: the account's home, or "/" when there is none
	int fds[3];
};

struct launched {
	pid_t pid;
	int error;        // 0 when the program runs
	const char *step; // what failed: "user", "cwd", "program"
};

struct launched launch(const struct launch *launch);

#endif
