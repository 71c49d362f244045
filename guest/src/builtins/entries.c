// Builtins that describe, make or move single entries of a folder.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "builtins/answer.h"
#include "builtins/builtins.h"
#include "builtins/resolved-path.h"

int builtin_stat(char *const *argv)
{
	struct resolved_path resolved;
	struct stat about;
	char target[PATH_MAX] = "";
	int error = resolve_path(&resolved, argv[0], false);
	if (error == 0 && fstatat(resolved.parent, resolved.name, &about, AT_SYMLINK_NOFOLLOW) != 0)
		error = errno;
	if (error != 0)
		return builtin_fail("stat", error);
	ssize_t bytes = S_ISLNK(about.st_mode) ? readlinkat(resolved.parent, resolved.name, target, sizeof target - 1) : 0;
	if (bytes < 0)
		return builtin_fail("readlink", errno);
	target[bytes] = '\0';
	answer_entry(&about, 0, resolved.name, target);
	return 0;
}

// Without search permission on the folder fstatat fails: the entry then has its name and kind only.
static void answer_listed(int folder, const struct dirent *entry)
{
	struct stat about = {.st_mode = DTTOIF(entry->d_type)};
	char target[PATH_MAX] = "";
	if (fstatat(folder, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
		return; // removed meanwhile
	if (S_ISLNK(about.st_mode)) {
		ssize_t bytes = readlinkat(folder, entry->d_name, target, sizeof target - 1);
		target[bytes < 0 ? 0 : bytes] = '\0';
	}
	answer_entry(&about, 0, entry->d_name, target);
}

int builtin_list(char *const *argv)
{
	DIR *listing = opendir(argv[0]);
	if (listing == NULL)
		return builtin_fail("open", errno);
	struct dirent *entry;
	while (errno = 0, (entry = readdir(listing)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			answer_listed(dirfd(listing), entry);
	return errno == 0 ? 0 : builtin_fail("read", errno);
}

int builtin_mkdir(char *const *argv)
{
	struct resolved_path resolved;
	struct stat about;
	bool makes_parents = argv[2][0] == '1';
	int error = resolve_path(&resolved, argv[0], makes_parents);
	if (error != 0)
		return builtin_fail("mkdir", error);
	if (mkdirat(resolved.parent, resolved.name, 0777) != 0) {
		error = errno;
		bool is_there = error == EEXIST && makes_parents && fstatat(resolved.parent, resolved.name, &about, 0) == 0 &&
				S_ISDIR(about.st_mode);
		return is_there ? 0 : builtin_fail("mkdir", error);
	}
	// The umask must not change a requested mode.
	if (argv[1][0] != '\0' &&
	    fchmodat(resolved.parent, resolved.name, (mode_t)strtoul(argv[1], NULL, 8) & 07777, 0) != 0)
		return builtin_fail("chmod", errno);
	return 0;
}

// One rename. Fails with EXDEV between file systems: copying would not be atomic.
int builtin_move(char *const *argv)
{
	struct resolved_path from, to;
	int error = resolve_path(&from, argv[0], false);
	if (error == 0)
		error = resolve_path(&to, argv[1], argv[3][0] == '1');
	if (error == 0 && (is_dot(&from) || is_dot(&to)))
		error = EBUSY;
	unsigned int flags = argv[2][0] == '1' ? 0 : RENAME_NOREPLACE;
	if (error == 0 && renameat2(from.parent, from.name, to.parent, to.name, flags) != 0)
		error = errno;
	return error == 0 ? 0 : builtin_fail("move", error);
}
