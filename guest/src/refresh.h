// Gives a restored guest its own identity before any process runs: clock, names, random state, MAC address, TCP
// connections, variables.
#ifndef OFFSHOOT_REFRESH_H
#define OFFSHOOT_REFRESH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "refresh-request.h"

struct refresh_target {
	const char *root; // folder of the identity files, without a final slash; NULL: write none
	bool is_system;   // also set the kernel's clock, host name and random pool
};

struct refreshed {
	int error;        // 0 when everything is done
	const char *step; // the failed one; the steps before it are done
};

// Reads the files of a refresh into the page cache, so that a snapshot contains them. That saves 25 ms in each restore.
void refresh_prepare(const struct refresh_target *target);

// Sets only the clock and the random pool, for a machine that was held and keeps its identity.
struct refreshed refresh_time(const struct refresh_target *target, const uint8_t *message, size_t message_bytes);

// The first part, which takes very little time: clock, host name, random pool, variables.
struct refreshed refresh_begin(const struct refresh_target *target, const struct refresh_request *request);

// The rest, which takes most of the time: MAC address, connections, files. No process may run before it is done.
struct refreshed refresh_finish(const struct refresh_target *target, const struct refresh_request *request);

#endif
