#include "builtins/resolved-path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 }; // the kernel's limit

static int make_folders(int from, char *path)
{
	int error = 0;
	for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash != NULL)
			*slash = '\0';
		if (mkdirat(from, path, 0777) != 0 && errno != EEXIST)
			error = errno;
		if (slash == NULL)
			return error;
		*slash = '/';
	}
}

static int open_folder(int from, char *path, bool makes_parents)
{
	int folder = openat(from, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder >= 0 || errno != ENOENT || !makes_parents || path[0] == '\0')
		return folder;
	int error = make_folders(from, path);
	folder = openat(from, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	// The error of mkdirat says more than ENOENT.
	if (folder < 0 && error != 0)
		errno = error;
	return folder;
}

static int open_from(struct resolved_path *resolved, int from, const char *path, bool makes_parents)
{
	char copy[PATH_MAX];
	size_t bytes = strlen(path);
	while (bytes > 1 && path[bytes - 1] == '/')
		bytes--;
	if (bytes == 0)
		return ENOENT;
	if (bytes >= sizeof copy)
		return ENAMETOOLONG;
	memcpy(copy, path, bytes);
	copy[bytes] = '\0';

	char *slash = strrchr(copy, '/');
	const char *name = slash == NULL ? copy : slash + 1;
	if (strlen(name) > NAME_MAX)
		return ENAMETOOLONG;
	strcpy(resolved->name, name[0] == '\0' ? "." : name);
	if (slash == NULL)
		strcpy(copy, ".");
	else if (slash == copy)
		strcpy(copy, "/");
	else
		*slash = '\0';
	resolved->parent = open_folder(from, copy, makes_parents);
	return resolved->parent < 0 ? errno : 0;
}

int resolve_path(struct resolved_path *resolved, const char *path, bool makes_parents)
{
	return path[0] != '/' ? EINVAL : open_from(resolved, AT_FDCWD, path, makes_parents);
}

int follow_links(struct resolved_path *resolved)
{
	for (int links = 0; links < LINKS_MAX; links++) {
		char target[PATH_MAX];
		ssize_t bytes = readlinkat(resolved->parent, resolved->name, target, sizeof target - 1);
		if (bytes < 0)
			return errno == EINVAL || errno == ENOENT ? 0 : errno;
		target[bytes] = '\0';
		int from = resolved->parent;
		int error = open_from(resolved, from, target, false);
		close(from);
		if (error != 0)
			return error;
	}
	return ELOOP;
}

bool is_dot(const struct resolved_path *resolved)
{
	return strcmp(resolved->name, ".") == 0 || strcmp(resolved->name, "..") == 0;
}
