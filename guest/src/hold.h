// Holding a machine: every CPU for the agent alone, so that no process runs an instruction between a checkpoint and the
// moment at which whatever was restored from it knows who it is.
//
// Each CPU has a thread of ours that sleeps. Held, it spins, at a real-time priority above every process and below the
// agent, which goes on serving its channel. Threads of the init process cannot be killed by anybody in the machine.
//
// Held processes may have the locks that work of the agent needs, half a disk transaction for one. Such work is put between
// hold_begin_work and hold_end_work: when it takes longer than it can ever take by itself, the others run until it is done.
// A guest that stood still for ever would be worse.
#ifndef OFFSHOOT_HOLD_H
#define OFFSHOOT_HOLD_H

#include <stdbool.h>

// Once, before anything is started: real-time priority for the agent (not for its children), and a thread for each CPU.
// Without it (outside of a machine of ours) holding is a word without effect. 0 or errno.
int hold_prepare(void);

// Returns when nothing else runs. 0 or errno: then nothing is held.
int hold_take(void);
void hold_release(void);
bool hold_is_taken(void);

void hold_begin_work(void);
void hold_end_work(void);

#endif
