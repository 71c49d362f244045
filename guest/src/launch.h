// Starts one program in a new session, with its account, environment, working directory and standard streams.
#ifndef OFFSHOOT_LAUNCH_H
#define OFFSHOOT_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "account.h"

struct launch {
	const struct account *account;
	const char *program; // without a slash it is looked up in the PATH of `environment`
	char *const *argv;
	char *const *environment;
	const char *cwd; // empty: the account's home, or "/" where that does not exist
	int fds[3];
	bool is_terminal; // fds[0] becomes the controlling terminal
	bool is_owner;	  // of a builtin: has root's rights, and the account owns what it makes and writes
};

struct launched {
	pid_t pid;
	int error;        // 0 when the program runs
	const char *step; // the failed one: "user", "cwd", "program", …
};

struct launched launch(const struct launch *launch);

// As launch, for a builtin: a forked child under that account, without exec. `program` and `argv` are the builtin's.
struct launched launch_builtin(const struct launch *launch);

#endif
