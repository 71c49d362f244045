// The bytes of one archive on a block device: read in large pieces past the page cache, and never beyond its end.
#ifndef OFFSHOOT_LAYER_SOURCE_H
#define OFFSHOOT_LAYER_SOURCE_H

#include <stddef.h>
#include <stdint.h>

// `offset` is a multiple of 512. 0 or an error number.
int source_open(const char *device, uint64_t offset, uint64_t bytes);
// Bytes that have been taken.
uint64_t source_taken(void);
// The next bytes, at least one and at most `max`; NULL at the end, or where the device cannot be read.
const uint8_t *source_next(uint64_t max, size_t *count);
// 0, or EBADMSG when the archive ends before.
int source_take(void *to, size_t count);
int source_skip(uint64_t count);

#endif
