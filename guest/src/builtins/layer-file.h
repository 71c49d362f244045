// Writes the content of an archived file. Blocks of zeros become holes, as do the holes of sparse files in GNU tar
// ("S") and pax archives (GNU.sparse 1.0).
#ifndef OFFSHOOT_LAYER_FILE_H
#define OFFSHOOT_LAYER_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layer_hole_map {
	bool is_in_content;	 // pax: the map is in front of the content
	const uint8_t *gnu_block; // GNU: the header block, with the first entries of the map; NULL: not this format
	uint64_t real_bytes;
};

// Reads all `archived_bytes` from the source and writes the file. `map` is NULL for a file that is not sparse. Returns
// 0 or an errno.
int layer_fill_file(int fd, uint64_t archived_bytes, const struct layer_hole_map *map);

#endif
