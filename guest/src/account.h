// Who a command runs as. Read from the files themselves: a static program must not load name service modules.
#ifndef OFFSHOOT_ACCOUNT_H
#define OFFSHOOT_ACCOUNT_H

#include <stddef.h>
#include <sys/types.h>

enum { ACCOUNT_GROUPS_MAX = 128, ACCOUNT_TEXT_MAX_BYTES = 512 };

struct account {
	uid_t uid;
	gid_t gid;
	char name[ACCOUNT_TEXT_MAX_BYTES];
	char home[ACCOUNT_TEXT_MAX_BYTES];
	char shell[ACCOUNT_TEXT_MAX_BYTES];
	gid_t groups[ACCOUNT_GROUPS_MAX];
	size_t groups_count;
};

// `who` is a name or a number, empty for root. 0, or ENOENT for an unknown name. A number without an entry is a user
// of that number and group, at home in "/"; root exists even when the image has no /etc/passwd.
int account_find(const char *who, struct account *account);

#endif
