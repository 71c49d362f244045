// Parses RUN. All strings point into the message.
#ifndef OFFSHOOT_RUN_REQUEST_H
#define OFFSHOOT_RUN_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

enum { RUN_ARGUMENTS_MAX = 16384 };

struct run_request {
	uint32_t options; // of enum run_option
	uint16_t rows, columns;
	uint32_t log_bytes;
	char *user;
	char *cwd;
	char *program; // empty: argv[0]
	char *kept_id;
	char *label;
	char *argv[RUN_ARGUMENTS_MAX + 1];
	char *env[ENVIRONMENT_MAX_ENTRIES];
	size_t env_count;
};

// Returns 0; EPROTO when it is not a RUN message; E2BIG for too many arguments or variables; EINVAL when the options
// contradict each other.
int run_request_parse(struct run_request *request, uint8_t *message, size_t message_bytes);

// Takes `count` strings, each ended by NUL, from `*at`. Returns false when the bytes end too early.
bool take_strings(uint8_t **at, const uint8_t *end, char **strings, size_t count);

#endif
