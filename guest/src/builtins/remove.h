// Removes files and whole folders. Never follows a symbolic link, never enters another file system than `device`. These
// return 0 or an errno.
#ifndef OFFSHOOT_REMOVE_H
#define OFFSHOOT_REMOVE_H

#include <dirent.h>
#include <sys/types.h>

// Not an error when the entry does not exist.
int remove_entry(int folder, const char *name, dev_t device);
// Removes everything in a folder.
int remove_content(DIR *listing, dev_t device);

#endif
