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
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	DATABASES = 2,
	// The agent itself reads these files, and root in the guest can make them anything.
	DATABASE_MAX_BYTES = 1024 * 1024,
	// Longer than a tick of the clock that the kernel takes ctime from: two changes within one tick have the same ctime.
	CTIME_TICK_NS = 100 * 1000 * 1000,
};

static const char *const databases[DATABASES] = {"/etc/passwd", "/etc/group"};

// Identifies the content of a file. Uses ctime, because no program can set it.
struct version {
	dev_t device;
	ino_t inode;
	off_t bytes;
	struct timespec changed_at;
};

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
	// The kernel takes (uid_t)-1 as "do not change".
	return *end == '\0' && errno == 0 && value < UINT32_MAX;
}

// NULL for a file that is missing, too large, or not regular: reading a device might never end. O_NONBLOCK: open() of a
// FIFO in the place of the file must not block the agent.
static FILE *open_database(const char *path)
{
	struct stat about;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	bool is_readable = fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size <= DATABASE_MAX_BYTES;
	FILE *file = is_readable ? fdopen(fd, "r") : NULL;
	if (file == NULL && fd >= 0)
		close(fd);
	return file;
}

static bool find_entry(const char *name, bool by_id, uid_t id, struct account *account)
{
	FILE *file = open_database(databases[0]);
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
	FILE *file = open_database(databases[1]);
	if (file == NULL)
		return;
	for (struct group *entry; (entry = fgetgrent(file)) != NULL;)
		for (char **member = entry->gr_mem; *member != NULL; member++)
			if (strcmp(*member, account->name) == 0 && entry->gr_gid != account->gid)
				add_group(account, entry->gr_gid);
	fclose(file);
}

static int look_up(const char *user, struct account *account)
{
	uid_t id = 0;
	bool by_id = user[0] == '\0' || parse_id(user, &id);
	if (!find_entry(user, by_id, id, account)) {
		if (strcmp(user, "root") == 0)
			by_id = true;
		if (!by_id)
			return ENOENT;
		account->uid = id;
		account->gid = id;
		set_text(account->name, id == 0 ? "root" : user, "");
		set_text(account->home, id == 0 ? "/root" : "/", "/");
		set_text(account->shell, "/bin/sh", "");
	}
	find_groups(account);
	return 0;
}

static bool is_ctime_old(const struct version *version, const struct timespec *now)
{
	int64_t age_ns = (int64_t)(now->tv_sec - version->changed_at.tv_sec) * 1000000000 +
			 (now->tv_nsec - version->changed_at.tv_nsec);
	return age_ns > CTIME_TICK_NS;
}

// False when a file is missing, or changed so recently that its next change may get the same ctime.
static bool read_versions(struct version versions[DATABASES])
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	memset(versions, 0, DATABASES * sizeof *versions);
	for (int i = 0; i < DATABASES; i++) {
		struct stat status;
		if (stat(databases[i], &status) != 0)
			return false;
		versions[i].device = status.st_dev;
		versions[i].inode = status.st_ino;
		versions[i].bytes = status.st_size;
		versions[i].changed_at = status.st_ctim;
		if (!is_ctime_old(&versions[i], &now))
			return false;
	}
	return true;
}

// Caches the last account until one of the files changes, because reading them takes half as long as an exec.
int account_find(const char *user, struct account *account)
{
	static char last_user[ACCOUNT_TEXT_MAX_BYTES];
	static struct account last;
	static struct version last_versions[DATABASES];
	static bool has_last;

	struct version versions[DATABASES];
	bool is_cacheable = read_versions(versions);
	if (is_cacheable && has_last && strcmp(user, last_user) == 0 && memcmp(versions, last_versions, sizeof versions) == 0) {
		*account = last;
		return 0;
	}
	int error = look_up(user, account);
	has_last = is_cacheable && error == 0 && strlen(user) < sizeof last_user;
	if (has_last) {
		strcpy(last_user, user);
		last = *account;
		memcpy(last_versions, versions, sizeof versions);
	}
	return error;
}
