// Terminals of commands: a pair of which we hold the master.
#ifndef OFFSHOOT_TERMINAL_H
#define OFFSHOOT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct terminal {
	int master; // non-blocking
	int slave;  // owned by the user
};

// 0 or an error number.
int terminal_open(struct terminal *terminal, uint16_t rows, uint16_t columns, uid_t owner);
// The kernel tells the foreground with SIGWINCH.
void terminal_resize(int master, uint16_t rows, uint16_t columns);
// Signals the group of `pid` and, with a master, the group in the foreground: a shell puts its jobs in groups of their own.
void terminal_kill(int master, pid_t pid, int signal);
// How many bytes an ended command may have left in `fd`, -1 included.
size_t output_left_bytes(int fd, bool is_terminal);

#endif
