// What a restored guest must change before it runs anything: clock, names, random state, MAC address, connections, variables.
#ifndef OFFSHOOT_REFRESH_H
#define OFFSHOOT_REFRESH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "refresh-request.h"

struct refresh_target {
	const char *root; // where the identity files are, without a final slash; NULL: they are left alone
	bool is_system;   // also set the kernel's clock, host name and random pool
};

struct refreshed {
	int error;        // 0 when everything is done
	const char *step; // what failed; the steps before it are done
};

// Reads what a refresh will touch, so that a snapshot taken now holds it in memory: 25 ms less at the restore.
void refresh_prepare(const struct refresh_target *target);

// The clock and the random pool alone, for the machine that goes on.
struct refreshed refresh_time(const struct refresh_target *target, const uint8_t *message, size_t message_bytes);

// What takes next to no time: clock, host name, random pool, variables.
struct refreshed refresh_begin(const struct refresh_target *target, const struct refresh_request *request);

// The rest, most of a refresh: MAC address, connections, files. Before it is done nobody may run.
struct refreshed refresh_finish(const struct refresh_target *target, const struct refresh_request *request);

#endif
