// The account a command runs as. Read from /etc/passwd and /etc/group, because a static program must not load NSS
// modules.
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

// `user` is a name or a number, empty for root. Returns 0, or ENOENT for an unknown name. A number without an entry in
// /etc/passwd gets that uid and gid, and "/" as its home. Root exists even when the image has no /etc/passwd.
int account_find(const char *user, struct account *account);

#endif
