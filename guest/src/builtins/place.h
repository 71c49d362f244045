// A path as the folder that holds it and its last name, so that what follows happens in that folder whatever moves.
#ifndef OFFSHOOT_PLACE_H
#define OFFSHOOT_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct place {
	int folder; // O_PATH; the process ends soon, nobody closes it
	char name[NAME_MAX + 1];
};

// 0 or an error number. Slashes at the end are ignored; the name of "/" is ".". With `makes_parents` missing folders
// above it are made.
int place_open(struct place *place, const char *path, bool makes_parents);
// Follows links at the place until it is something else, or nothing.
int place_follow(struct place *place);
// ".", "..": there, but no entry of its folder.
bool place_is_dot(const struct place *place);

enum { DESCRIPTOR_PATH_BYTES = 32 };
// The path under which an open descriptor can be opened again.
static inline const char *descriptor_path(char path[DESCRIPTOR_PATH_BYTES], int fd)
{
	snprintf(path, DESCRIPTOR_PATH_BYTES, "/proc/self/fd/%d", fd);
	return path;
}

#endif
