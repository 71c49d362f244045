// The memory of this machine, and how much of it is available to programs.
#ifndef OFFSHOOT_MEMORY_H
#define OFFSHOOT_MEMORY_H

#include <stdint.h>

// Sets MemTotal and MemAvailable of proc(5), in bytes. Returns 0 or an errno.
int memory_read(uint64_t *total, uint64_t *available);

#endif
