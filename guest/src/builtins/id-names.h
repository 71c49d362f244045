// Names of users and groups by their numbers, from /etc/passwd and /etc/group. Only builtins may call this: it keeps the
// files in memory, and a builtin is a process that ends soon.
#ifndef OFFSHOOT_ID_NAMES_H
#define OFFSHOOT_ID_NAMES_H

#include <sys/types.h>

// Names of at most this many bytes are found.
enum { ID_NAME_MAX_BYTES = 255 };

// NULL without a name. Of several names of one number, the first in the file.
const char *user_name(uid_t uid);
const char *group_name(gid_t gid);

#endif
