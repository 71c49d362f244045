// Pipes of ended commands that children still hold. A server that `cmd &` left behind must not die of SIGPIPE, so the
// agent reads these pipes until their end and discards the bytes. With DRAINS_MAX in use, the oldest is closed for a
// new one.
#ifndef OFFSHOOT_DRAINS_H
#define OFFSHOOT_DRAINS_H

#include <stdbool.h>
#include <stdint.h>

enum { DRAINS_MAX = 1024 };

struct drain {
	int fd; // 0: free
	bool ready;
};

struct drains {
	int poll_fd;
	uint32_t next;
	uint32_t used; // slots from here on have never been used
	struct drain slots[DRAINS_MAX];
};

// Takes over `fd`, which `poll_fd` already watches.
void drains_take(struct drains *drains, int fd);
void drains_wake(struct drains *drains, uint32_t index);
// Reads once from each ready pipe. True when there may be more to read.
bool drains_pump(struct drains *drains);

#endif
