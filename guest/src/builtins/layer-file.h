// The content of a file of an archive: what is zero becomes a hole, as do the holes of the sparse files of GNU tar ("S") and
// of pax archives (GNU.sparse 1.0).
#ifndef OFFSHOOT_LAYER_FILE_H
#define OFFSHOOT_LAYER_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layer_hole_map {
	bool is_in_content;	 // the map comes before the content (pax)
	const uint8_t *gnu_block; // the header that begins the map (GNU), or NULL
	uint64_t real_bytes;
};

// Takes `archived_bytes` from the source, whatever becomes of them unless it fails. `map` is NULL for a file without one.
// 0 or an error number.
int layer_fill_file(int fd, uint64_t archived_bytes, const struct layer_hole_map *map);

#endif
