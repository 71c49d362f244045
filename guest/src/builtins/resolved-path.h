// A path, resolved to an open parent folder and a last name. Later calls work in that folder even when it is moved.
#ifndef OFFSHOOT_RESOLVED_PATH_H
#define OFFSHOOT_RESOLVED_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct resolved_path {
	int parent; // O_PATH; never closed, because the process ends soon
	char name[NAME_MAX + 1];
};

// Returns 0 or an errno. Ignores slashes at the end. The name of "/" is ".". With `makes_parents` it makes missing
// parent folders.
int resolve_path(struct resolved_path *resolved, const char *path, bool makes_parents);
// Follows symbolic links until the path is something else, or does not exist. Returns 0 or an errno.
int follow_links(struct resolved_path *resolved);
// True for "." and "..", which no operation may rename or remove.
bool is_dot(const struct resolved_path *resolved);

enum { DESCRIPTOR_PATH_BYTES = 32 };
// A path by which an open descriptor can be opened again.
static inline const char *descriptor_path(char path[DESCRIPTOR_PATH_BYTES], int fd)
{
	snprintf(path, DESCRIPTOR_PATH_BYTES, "/proc/self/fd/%d", fd);
	return path;
}

#endif
