// The hidden name of a draft, which exists between the writing of a file and its rename.
#ifndef OFFSHOOT_DRAFT_NAME_H
#define OFFSHOOT_DRAFT_NAME_H

#include <stdbool.h>

enum { DRAFT_NAME_BYTES = 48 };

// Chooses a name that no other draft has. Returns 0 or an errno.
int draft_name_choose(char name[DRAFT_NAME_BYTES]);
// Whether a name has the form of a draft's.
bool draft_name_matches(const char *name);

#endif
