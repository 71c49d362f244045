// One entry of a layer: makes in the file system what its header says.
#ifndef OFFSHOOT_LAYER_ENTRY_H
#define OFFSHOOT_LAYER_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "builtins/tar-header.h"

enum { LAYER_PAX_MAX_BYTES = 1024 * 1024 };

struct layer {
	int root;
	dev_t device;
	bool has_whiteouts;
	uint64_t entries, bytes, left_out, told;
	struct tar_header header;
	struct tar_extra extra, global;
	uint8_t block[TAR_BLOCK_BYTES];
	// What the pax header of the entry says, for what tar_extra has no field for.
	uint8_t pax[LAYER_PAX_MAX_BYTES];
	size_t pax_bytes;
	// The folder that the last entry was put into: the next is mostly in the same.
	int parent;
	char parent_name[TAR_TEXT_MAX_BYTES];
};

// The one that is being unpacked.
extern struct layer layer;

// What `layer.header` and `layer.pax` describe, with its content from the source. 0 or an error number.
int layer_make_entry(void);
// After anything that may have put something else in the place of a folder.
void layer_forget_parent(void);

static inline uint64_t layer_padding(void)
{
	return -layer.header.size_bytes % TAR_BLOCK_BYTES;
}

#endif
