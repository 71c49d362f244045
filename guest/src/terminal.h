// Pseudo-terminals of commands. The agent holds the master.
#ifndef OFFSHOOT_TERMINAL_H
#define OFFSHOOT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct terminal {
	int master; // non-blocking
	int slave;  // the command's user owns it
};

// Returns 0 or an errno.
int terminal_open(struct terminal *terminal, uint16_t rows, uint16_t columns, uid_t owner);
// The kernel then sends SIGWINCH to the foreground process group.
void terminal_resize(int master, uint16_t rows, uint16_t columns);
// Signals the process group of `pid`, and the terminal's foreground group, because a shell gives each job its own
// group. `master` is -1 without a terminal.
void terminal_kill(int master, pid_t pid, int signal);
// How many bytes an ended command may have left in `fd`. 0 for -1.
size_t output_left_bytes(int fd, bool is_terminal);

#endif
