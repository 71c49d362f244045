// How much memory this machine has, and how much of it could still be given to programs.
#ifndef OFFSHOOT_MEMORY_H
#define OFFSHOOT_MEMORY_H

#include <stdint.h>

// Bytes, as the kernel reckons them (MemTotal and MemAvailable, proc(5)). Returns 0 or an errno. Starts no process.
int memory_read(uint64_t *total, uint64_t *available);

#endif
