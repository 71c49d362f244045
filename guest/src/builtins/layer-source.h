// Reads one archive from a block device, in large pieces with O_DIRECT, and never beyond its end.
#ifndef OFFSHOOT_LAYER_SOURCE_H
#define OFFSHOOT_LAYER_SOURCE_H

#include <stddef.h>
#include <stdint.h>

// `offset` is a multiple of 512. Returns 0 or an errno.
int source_open(const char *device, uint64_t offset, uint64_t bytes);
// The number of bytes that have been taken.
uint64_t source_taken(void);
// The next bytes: at least one, at most `max`. Returns NULL at the end, or when the device cannot be read.
const uint8_t *source_next(uint64_t max, size_t *count);
// These return 0, or EBADMSG when the archive ends too early.
int source_take(void *to, size_t count);
int source_skip(uint64_t count);

#endif
