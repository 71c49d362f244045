// What a command finds in its environment: the account's own variables, the sandbox's, the command's; the later wins.
#ifndef OFFSHOOT_ENVIRONMENT_H
#define OFFSHOOT_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "account.h"
#include "protocol.h"

// Replaces the sandbox's variables by `count` strings "KEY=value" standing one after the other, each ended by NUL.
// False when memory is short or there are more than ENVIRONMENT_MAX_ENTRIES; the old ones then stay.
bool environment_set(const char *strings, size_t strings_bytes, size_t count);

// The environment of one command; `own` has at most ENVIRONMENT_MAX_ENTRIES. Valid until the next call.
char **environment_build(const struct account *account, char *const *own, size_t own_count);

// The value of `key` in an environment, or NULL.
const char *environment_get(char *const *environment, const char *key);

#endif
