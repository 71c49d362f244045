#include "builtins/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "builtins/builtins.h"
#include "builtins/resolved-path.h"

static int remove_folder(int parent, const char *name, dev_t device);

int remove_entry(int folder, const char *name, dev_t device)
{
	if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
		return 0;
	// For a folder Linux returns EISDIR; POSIX also allows EPERM.
	return errno == EISDIR || errno == EPERM ? remove_folder(folder, name, device) : errno;
}

int remove_content(DIR *listing, dev_t device)
{
	struct dirent *entry;
	while (errno = 0, (entry = readdir(listing)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		int error = remove_entry(dirfd(listing), entry->d_name, device);
		if (error != 0)
			return error;
	}
	return errno;
}

// Refuses to enter another file system: a volume that is mounted below must not be emptied.
static int remove_folder(int parent, const char *name, dev_t device)
{
	struct stat about;
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno;
	DIR *listing = fdopendir(fd);
	if (listing == NULL || fstat(fd, &about) != 0)
		return errno;
	int error = about.st_dev == device ? remove_content(listing, device) : EBUSY;
	closedir(listing);
	if (error == 0 && unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
		error = errno;
	return error;
}

int builtin_remove(char *const *argv)
{
	struct resolved_path resolved;
	struct stat about, folder;
	int error = resolve_path(&resolved, argv[0], false);
	if (error == 0 && (fstatat(resolved.parent, resolved.name, &about, AT_SYMLINK_NOFOLLOW) != 0 ||
			   fstat(resolved.parent, &folder) != 0))
		error = errno;
	if (error == 0 && is_dot(&resolved))
		error = EBUSY;
	if (error != 0)
		return builtin_fail("remove", error);
	if (!S_ISDIR(about.st_mode))
		error = unlinkat(resolved.parent, resolved.name, 0) != 0 ? errno : 0;
	else
		error = argv[1][0] == '1' ? remove_folder(resolved.parent, resolved.name, folder.st_dev) : EISDIR;
	return error == 0 ? 0 : builtin_fail("remove", error);
}
