// A file that gets its name when it is complete, so that readers see the old content or the new.
#ifndef OFFSHOOT_DRAFT_H
#define OFFSHOOT_DRAFT_H

#include <stdbool.h>

// Where a draft is made: `path` leads from `root` to `folder`, which is open.
struct draft_place {
	int root;
	const char *path;
	int folder;
};

struct draft {
	int fd;	       // for writing
	bool has_name; // it is in its folder under a hidden name
};

// Makes an empty draft. Without `hides_name` it may be in its folder under a hidden name. Returns 0 or an errno.
int draft_open(struct draft *draft, const struct draft_place *place, bool hides_name);
// Gives the draft its name, which may be that of a file or link: it is replaced. Returns 0 or an errno.
int draft_put_in_place(struct draft *draft, const struct draft_place *place, const char *name);
// Closes the draft. Without its name it is gone.
void draft_close(struct draft *draft, const struct draft_place *place);

#endif
