// Whole small files, as system configuration is made of.
#ifndef OFFSHOOT_FILE_H
#define OFFSHOOT_FILE_H

#include <stddef.h>
#include <sys/types.h>

// Reads at most `room` - 1 bytes and ends them by NUL; -1 with errno set.
ssize_t file_read(const char *path, char *to, size_t room);
// Writes what is already there, as /proc and /sys want it. 0 or errno.
int file_write(const char *path, const char *text);
// The file then holds these bytes and no others. 0 or errno. A file that exists is written in place, by one call: to make
// one beside it and rename costs a just restored guest under emulation 30 ms for three files, on the path of every create.
// Where there is none, or a link stands there, it is written beside and renamed.
int file_replace(const char *path, const void *bytes, size_t count);

#endif
