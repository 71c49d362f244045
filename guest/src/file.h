// Whole small files, as system configuration is made of.
#ifndef OFFSHOOT_FILE_H
#define OFFSHOOT_FILE_H

#include <stddef.h>
#include <sys/types.h>

// Reads at most `room` - 1 bytes and ends them by NUL; -1 with errno set.
ssize_t file_read(const char *path, char *to, size_t room);
// Writes what is already there, as /proc and /sys want it. 0 or errno.
int file_write(const char *path, const char *text);
// Writes beside and renames, so that a reader sees the old or the new, never half. 0 or errno.
int file_replace(const char *path, const void *bytes, size_t count);

#endif
