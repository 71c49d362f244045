// Parses REFRESH. It does no I/O, so check.c and fuzz.c test it alone.
#ifndef OFFSHOOT_REFRESH_REQUEST_H
#define OFFSHOOT_REFRESH_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interface.h"
#include "protocol.h"

struct refresh_request {
	uint64_t time_ns;
	bool keeps_env;
	char hostname[HOSTNAME_MAX_BYTES + 1];
	char machine_id[MACHINE_ID_BYTES + 1];
	const uint8_t *entropy; // points into the message, as `env` does
	size_t entropy_bytes;
	bool has_mac;
	uint8_t mac[MAC_BYTES];
	bool has_address;
	struct interface_address address;
	bool has_volumes;
	uint8_t volumes; // a bit for each spare block device
	const char *env; // strings, each ended by NUL
	size_t env_bytes;
	size_t env_count;
};

// Returns false when the message is malformed, or has a field or an option that this guest does not know.
bool refresh_request_parse(struct refresh_request *request, const uint8_t *message, size_t message_bytes);

#endif
