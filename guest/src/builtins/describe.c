// Builtins that describe entries with the names of their owners and with what links lead to. `stat` and `list` are their
// forms for hosts of earlier releases.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "builtins/answer.h"
#include "builtins/builtins.h"
#include "builtins/id-names.h"
#include "builtins/resolved-path.h"

// Each level holds a descriptor and a stack frame.
enum { DEPTH_MAX = 100 };
// The kernel's own number for owners that it cannot express.
enum { UNKNOWN_ID = 65534 };

// The path of the current entry, relative to the listed folder.
static char path[DEPTH_MAX * (NAME_MAX + 1)];

static void read_link(int folder, const char *name, char to[PATH_MAX])
{
	ssize_t bytes = readlinkat(folder, name, to, PATH_MAX - 1);
	to[bytes < 0 ? 0 : bytes] = '\0';
}

// O_PATH opens no device and waits for no FIFO. Links of /proc may lead to something without a path.
static mode_t follow_link(int folder, const char *name, char to[PATH_MAX])
{
	struct stat about;
	char descriptor[DESCRIPTOR_PATH_BYTES];
	int fd = openat(folder, name, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return 0;
	bool is_known = fstat(fd, &about) == 0;
	if (is_known)
		read_link(AT_FDCWD, descriptor_path(descriptor, fd), to);
	if (to[0] != '/')
		to[0] = '\0';
	close(fd);
	return is_known ? about.st_mode : 0;
}

static void answer_detailed(int folder, const char *name, const char *shown, const struct stat *about)
{
	static char target[PATH_MAX], target_path[PATH_MAX];
	struct entry_details details = {.target = target, .target_path = target_path};
	target[0] = '\0';
	target_path[0] = '\0';
	if (S_ISLNK(about->st_mode)) {
		read_link(folder, name, target);
		details.target_mode = follow_link(folder, name, target_path);
	}
	details.user = user_name(about->st_uid);
	details.group = group_name(about->st_gid);
	answer_detailed_entry(about, shown, &details);
}

int builtin_describe(char *const *argv)
{
	struct resolved_path resolved;
	struct stat about;
	int error = resolve_path(&resolved, argv[0], false);
	if (error == 0 && fstatat(resolved.parent, resolved.name, &about, AT_SYMLINK_NOFOLLOW) != 0)
		error = errno;
	if (error != 0)
		return builtin_fail("stat", error);
	answer_detailed(resolved.parent, resolved.name, resolved.name, &about);
	return 0;
}

// A folder below the listed one that was removed or replaced meanwhile, or that the user may not read, has no entries.
static bool is_skipped(int error)
{
	return error == ENOENT || error == ESRCH || error == ENOTDIR || error == ELOOP || error == EACCES || error == EPERM;
}

static int walk(int fd, size_t path_bytes, unsigned long depth);

// Returns 0 or an errno.
static int walk_entry(int folder, const struct dirent *entry, size_t path_bytes, unsigned long depth)
{
	// Without search permission on the folder fstatat fails: only name and kind are known then.
	struct stat about = {.st_mode = DTTOIF(entry->d_type), .st_uid = UNKNOWN_ID, .st_gid = UNKNOWN_ID};
	if (fstatat(folder, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
		return 0; // removed meanwhile
	size_t name_bytes = strlen(entry->d_name);
	// A file system of the user's own (FUSE) must not give names that Linux does not allow.
	if (name_bytes > NAME_MAX)
		return ENAMETOOLONG;
	memcpy(path + path_bytes, entry->d_name, name_bytes + 1);
	answer_detailed(folder, entry->d_name, path, &about);
	if (!S_ISDIR(about.st_mode) || depth == 1)
		return 0;
	int fd = openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	path[path_bytes + name_bytes] = '/';
	int error = fd < 0 ? errno : walk(fd, path_bytes + name_bytes + 1, depth - 1);
	return is_skipped(error) ? 0 : error;
}

// Describes the entries of an open folder, and closes it. `path_bytes` of the path lead to it. Returns 0 or an errno.
static int walk(int fd, size_t path_bytes, unsigned long depth)
{
	DIR *listing = fdopendir(fd);
	if (listing == NULL) {
		int error = errno;
		close(fd);
		return error;
	}
	int error = 0;
	while (error == 0) {
		errno = 0;
		struct dirent *entry = readdir(listing);
		if (entry == NULL) {
			error = errno;
			break;
		}
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			error = walk_entry(fd, entry, path_bytes, depth);
	}
	closedir(listing);
	return error;
}

int builtin_walk(char *const *argv)
{
	unsigned long depth = strtoul(argv[1], NULL, 10);
	if (depth < 1 || depth > DEPTH_MAX)
		return builtin_fail("depth", EINVAL);
	int fd = open(argv[0], O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return builtin_fail("open", errno);
	int error = walk(fd, 0, depth);
	return error == 0 ? 0 : builtin_fail("read", error);
}
