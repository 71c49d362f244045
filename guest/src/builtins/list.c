#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "builtins/answer.h"
#include "builtins/builtins.h"

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
