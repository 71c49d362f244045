// The environment of a command: variables of the account, then the sandbox's, then the command's. The later wins.
#ifndef OFFSHOOT_ENVIRONMENT_H
#define OFFSHOOT_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "account.h"
#include "protocol.h"

// Replaces the sandbox's variables by `count` consecutive strings "KEY=value", each ended by NUL. Returns false and
// keeps the old ones when memory is short or there are more than ENVIRONMENT_MAX_ENTRIES.
bool environment_set(const char *strings, size_t strings_bytes, size_t count);

// Builds the environment of one command. `own` has at most ENVIRONMENT_MAX_ENTRIES. Valid until the next call.
char **environment_build(const struct account *account, char *const *own, size_t own_count);

// The value of `key` in an environment, or NULL.
const char *environment_get(char *const *environment, const char *key);

#endif
