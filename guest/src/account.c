#include "account.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void set_text(char *to, const char *from, const char *otherwise)
{
	snprintf(to, ACCOUNT_TEXT_MAX_BYTES, "%s", from != NULL && from[0] != '\0' ? from : otherwise);
}

static bool parse_id(const char *text, uid_t *id)
{
	if (text[0] < '0' || text[0] > '9')
		return false;
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	*id = (uid_t)value;
	// (uid_t)-1 means "leave as it is" to the kernel.
	return *end == '\0' && errno == 0 && value < UINT32_MAX;
}

// Without waiting: a FIFO in its place must not hold us.
static FILE *open_database(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	if (file == NULL && fd >= 0)
		close(fd);
	return file;
}

static bool find_entry(const char *name, bool by_id, uid_t id, struct account *account)
{
	FILE *file = open_database("/etc/passwd");
	if (file == NULL)
		return false;
	bool found = false;
	for (struct passwd *entry; !found && (entry = fgetpwent(file)) != NULL;) {
		found = by_id ? entry->pw_uid == id : strcmp(entry->pw_name, name) == 0;
		if (!found)
			continue;
		account->uid = entry->pw_uid;
		account->gid = entry->pw_gid;
		set_text(account->name, entry->pw_name, "");
		set_text(account->home, entry->pw_dir, "/");
		set_text(account->shell, entry->pw_shell, "/bin/sh");
	}
	fclose(file);
	return found;
}

static void add_group(struct account *account, gid_t gid)
{
	if (account->groups_count < ACCOUNT_GROUPS_MAX)
		account->groups[account->groups_count++] = gid;
}

static void find_groups(struct account *account)
{
	account->groups_count = 0;
	add_group(account, account->gid);
	FILE *file = open_database("/etc/group");
	if (file == NULL)
		return;
	for (struct group *entry; (entry = fgetgrent(file)) != NULL;)
		for (char **member = entry->gr_mem; *member != NULL; member++)
			if (strcmp(*member, account->name) == 0 && entry->gr_gid != account->gid)
				add_group(account, entry->gr_gid);
	fclose(file);
}

int account_find(const char *who, struct account *account)
{
	uid_t id = 0;
	bool by_id = who[0] == '\0' || parse_id(who, &id);
	if (!find_entry(who, by_id, id, account)) {
		if (strcmp(who, "root") == 0)
			by_id = true;
		if (!by_id)
			return ENOENT;
		account->uid = id;
		account->gid = id;
		set_text(account->name, id == 0 ? "root" : who, "");
		set_text(account->home, id == 0 ? "/root" : "/", "/");
		set_text(account->shell, "/bin/sh", "");
	}
	find_groups(account);
	return 0;
}
