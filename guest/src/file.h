// Reads and writes small files as a whole: system configuration, /proc, /sys.
#ifndef OFFSHOOT_FILE_H
#define OFFSHOOT_FILE_H

#include <stddef.h>
#include <sys/types.h>

// Reads at most `room` - 1 bytes and appends NUL. Returns their number, or -1 with errno set.
ssize_t file_read(const char *path, char *to, size_t room);
// Writes to an existing file without truncating it, as /proc and /sys need it. Returns 0 or an errno.
int file_write(const char *path, const char *text);
// Makes these bytes the whole content of the file. Returns 0 or an errno. An existing regular file is written in place
// with one call: a new file and a rename would cost a just restored guest 30 ms for three files (TCG), in every create.
// Where there is no file, or a link, a new file is written and renamed.
int file_replace(const char *path, const void *bytes, size_t count);

#endif
