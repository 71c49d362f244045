// Holds a machine: only the agent runs, so that no process runs an instruction between a checkpoint and the REFRESH of
// a VM that was restored from it.
//
// The agent has one sleeping thread for each CPU. While the machine is held these threads spin, at a real-time priority
// above every process and below the agent, which goes on serving its channel. They are threads of the init process, so
// no process can kill them.
//
// A held process may own a lock that the agent needs, such as that of a journal transaction. The agent therefore does
// its work between hold_begin_work and hold_end_work. When work takes longer than it can take without waiting, all
// processes run until it is done: a deadlocked guest would be worse.
#ifndef OFFSHOOT_HOLD_H
#define OFFSHOOT_HOLD_H

#include <stdbool.h>

// Call it once, before any process starts. Gives the agent (not its children) real-time priority and starts the
// threads. Without it, as in tests on a host, hold_take only sets a flag. Returns 0 or an errno.
int hold_prepare(void);

// Returns 0 when nothing but the agent runs, or an errno when the machine is not held.
int hold_take(void);
void hold_release(void);
bool hold_is_taken(void);

void hold_begin_work(void);
void hold_end_work(void);

#endif
