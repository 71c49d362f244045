// Removal of whole folders. Never through a link, never into another file system than `device`. Gives an error number.
#ifndef OFFSHOOT_REMOVE_H
#define OFFSHOOT_REMOVE_H

#include <dirent.h>
#include <sys/types.h>

// What is not there is removed.
int remove_entry(int folder, const char *name, dev_t device);
// All that is in a folder.
int remove_content(DIR *listing, dev_t device);

#endif
