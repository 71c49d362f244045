// Unit tests of the pure parts, run under sanitizers. Silent and 0 when all holds.
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "decoder.h"
#include "run-request.h"

#undef NDEBUG

static size_t encode(uint8_t *to, uint8_t type, uint32_t stream, size_t payload_bytes, uint8_t fill)
{
	to[0] = type;
	to[1] = 0;
	write_u16(to + 2, (uint16_t)payload_bytes);
	write_u32(to + 4, stream);
	memset(to + FRAME_HEADER_BYTES, fill, payload_bytes);
	to[FRAME_HEADER_BYTES + payload_bytes] = FRAME_TRAILER;
	return FRAME_HEADER_BYTES + payload_bytes + 1;
}

struct seen {
	size_t frames, garbage, payload_bytes;
	uint32_t last_stream;
};

// Each piece in memory of its own, so that a read beyond it is caught.
static void feed(struct decoder *decoder, const uint8_t *bytes, size_t count, struct seen *seen)
{
	uint8_t *piece = malloc(count == 0 ? 1 : count);
	memcpy(piece, bytes, count);
	for (size_t at = 0; at < count;) {
		size_t consumed;
		struct frame frame;
		enum decoded decoded = decoder_next(decoder, piece + at, count - at, &consumed, &frame);
		assert(consumed > 0 && consumed <= count - at);
		at += consumed;
		seen->garbage += decoded == DECODED_GARBAGE;
		if (decoded != DECODED_FRAME)
			continue;
		seen->frames++;
		seen->payload_bytes += frame.payload_bytes;
		seen->last_stream = frame.stream;
	}
	free(piece);
}

static uint8_t bytes[8 * FRAME_MAX_BYTES];
static const uint8_t zeros[FRAME_MAX_BYTES];
static struct decoder decoder;

static void check_every_cut(void)
{
	size_t count = encode(bytes, 3, 1, 40, 0xff);
	count += 5; // padding
	count += encode(bytes + count, 4, 2, 0, 0);
	count += encode(bytes + count, 5, 3, 20, 0);
	for (size_t first = 0; first <= count; first++)
		for (size_t second = first; second <= count; second++) {
			struct seen seen = {0};
			memset(&decoder, 0, sizeof decoder);
			feed(&decoder, bytes, first, &seen);
			feed(&decoder, bytes + first, second - first, &seen);
			feed(&decoder, bytes + second, count - second, &seen);
			assert(seen.frames == 3 && seen.payload_bytes == 60 && seen.garbage == 0);
		}
}

static void check_every_size(void)
{
	for (size_t size = 0; size <= FRAME_PAYLOAD_MAX_BYTES; size += size < 300 ? 1 : 1021) {
		struct seen seen = {0};
		memset(&decoder, 0, sizeof decoder);
		feed(&decoder, bytes, encode(bytes, 3, 1, size, 0xA5), &seen);
		assert(seen.frames == 1 && seen.payload_bytes == size);
	}
}

static void check_cut_by_death(void)
{
	static uint8_t next[FRAME_MAX_BYTES];
	size_t next_bytes = encode(next, 1, 77, 18, 1);
	static const size_t sizes[] = {0, 1, 300, FRAME_PAYLOAD_MAX_BYTES};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		size_t count = encode(bytes, 17, 0xffffffff, sizes[i], 0xee);
		for (size_t cut = 0; cut < count; cut += cut < 400 ? 1 : 331) {
			struct seen seen = {0};
			memset(&decoder, 0, sizeof decoder);
			feed(&decoder, bytes, cut, &seen);
			feed(&decoder, zeros, sizeof zeros, &seen);
			feed(&decoder, next, next_bytes, &seen);
			assert(seen.frames == 1 && seen.garbage == 0 && seen.last_stream == 77);
		}
	}
}

static void check_lost(void)
{
	struct seen seen = {0};
	memset(&decoder, 0, sizeof decoder);
	size_t count = encode(bytes, 3, 1, 4, 1);
	bytes[count - 1] = 1;
	feed(&decoder, bytes, count, &seen);
	assert(seen.garbage == 1 && decoder.lost);
	feed(&decoder, bytes, encode(bytes, 3, 2, FRAME_PAYLOAD_MAX_BYTES, 0), &seen);
	assert(seen.frames == 0 && decoder.lost);
	feed(&decoder, zeros, sizeof zeros, &seen);
	feed(&decoder, bytes, encode(bytes, 1, 3, 4, 1), &seen);
	assert(seen.frames == 1 && seen.last_stream == 3 && !decoder.lost);
}

static int parse(const char *message, size_t count, struct run_request *request)
{
	static uint8_t copy[256];
	memcpy(copy, message, count);
	return run_request_parse(request, copy, count);
}

static void check_run_request(void)
{
	static struct run_request request;
	static const char whole[] = "\2\0\1\0user\0/cwd\0sh\0-c\0A=b";
	assert(parse(whole, sizeof whole, &request) == 0);
	assert(strcmp(request.user, "user") == 0 && strcmp(request.cwd, "/cwd") == 0);
	assert(strcmp(request.argv[0], "sh") == 0 && strcmp(request.argv[1], "-c") == 0 && request.argv[2] == NULL);
	assert(request.env_count == 1 && strcmp(request.env[0], "A=b") == 0);
	for (size_t cut = 0; cut < sizeof whole; cut++)
		assert(parse(whole, cut, &request) == EPROTO);
	assert(parse("\0\0\0\0\0", 6, &request) == EPROTO);
	assert(parse("\1\0\0\0\0\0x\0y", 9, &request) == EPROTO);
	assert(parse("\377\377\0\0", 4, &request) == E2BIG);
	assert(parse("\1\0\1\4\0\0x", 8, &request) == E2BIG);
}

int main(void)
{
	check_every_cut();
	check_every_size();
	check_cut_by_death();
	check_lost();
	check_run_request();
	puts("guest: all checks hold");
	return 0;
}
