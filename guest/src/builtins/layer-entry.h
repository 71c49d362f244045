// Makes one entry of a layer in the file system.
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
	uint64_t entries, bytes, left_out;
	uint64_t reported_bytes; // bytes taken at the last progress record
	struct tar_header header;
	struct tar_extra extra, global;
	uint8_t block[TAR_BLOCK_BYTES];
	// The pax header of the entry, for records that tar_extra has no field for.
	uint8_t pax[LAYER_PAX_MAX_BYTES];
	size_t pax_bytes;
	// The parent folder of the last entry, still open because the next entry is mostly in the same one. -1: none.
	int parent;
	char parent_name[TAR_TEXT_MAX_BYTES];
};

// The layer that this process unpacks.
extern struct layer layer;

// Makes the entry that `layer.header` and `layer.pax` describe, with its content from the source. Returns 0 or an
// errno.
int layer_make_entry(void);
// Closes `layer.parent`. Call it after anything that may have replaced a folder.
void layer_forget_parent(void);

static inline uint64_t layer_padding(void)
{
	return -layer.header.size_bytes % TAR_BLOCK_BYTES;
}

#endif
