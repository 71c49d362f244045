// What a restored guest must change before it runs anything: clock, names, random state, MAC address, connections, variables.
#ifndef OFFSHOOT_REFRESH_H
#define OFFSHOOT_REFRESH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

// Those of volumes_set, or that the message does not speak of them.
enum { VOLUMES_AS_THEY_ARE = -1 };

// Gives in `volumes` what is left to do about them once the machine is not held any more.
struct refreshed refresh(const struct refresh_target *target, const uint8_t *message, size_t message_bytes, int *volumes);

#endif
