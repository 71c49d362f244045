#include "builtins/layer-source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = 512 * 1024, SECTOR_BYTES = 512 };

static struct {
	int fd;
	uint64_t next, end, taken;
	const uint8_t *at;
	size_t have;
	_Alignas(4096) uint8_t piece[PIECE_BYTES];
} source;

int source_open(const char *device, uint64_t offset, uint64_t bytes)
{
	source.fd = open(device, O_RDONLY | O_DIRECT | O_CLOEXEC);
	source.next = offset;
	source.end = offset + bytes;
	return source.fd < 0 ? errno : 0;
}

uint64_t source_taken(void)
{
	return source.taken;
}

static void refill(void)
{
	uint64_t left = source.end - source.next;
	// O_DIRECT reads whole sectors. The device has them even where the archive ends within one.
	size_t wanted = left < PIECE_BYTES ? ((size_t)left + SECTOR_BYTES - 1) / SECTOR_BYTES * SECTOR_BYTES : PIECE_BYTES;
	ssize_t got = wanted == 0 ? 0 : pread(source.fd, source.piece, wanted, (off_t)source.next);
	if (got <= 0)
		return;
	source.at = source.piece;
	source.have = (uint64_t)got < left ? (size_t)got : (size_t)left;
	source.next += source.have;
}

const uint8_t *source_next(uint64_t max, size_t *count)
{
	if (source.have == 0)
		refill();
	if (source.have == 0 || max == 0)
		return NULL;
	*count = source.have < max ? source.have : (size_t)max;
	const uint8_t *bytes = source.at;
	source.at += *count;
	source.have -= *count;
	source.taken += *count;
	return bytes;
}

int source_take(void *to, size_t count)
{
	uint8_t *at = to;
	while (count > 0) {
		size_t got;
		const uint8_t *bytes = source_next(count, &got);
		if (bytes == NULL)
			return EBADMSG;
		memcpy(at, bytes, got);
		at += got;
		count -= got;
	}
	return 0;
}

int source_skip(uint64_t count)
{
	while (count > 0) {
		size_t got;
		if (source_next(count, &got) == NULL)
			return EBADMSG;
		count -= got;
	}
	return 0;
}
