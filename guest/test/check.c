// Unit tests of the parts that do no I/O, with sanitizers.
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builtins/tar-header.h"
#include "bytes.h"
#include "decoder.h"
#include "output-log.h"
#include "refresh-request.h"
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

// Copies each piece to its own memory, so that the sanitizer finds reads beyond its end.
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
	static const char whole[] = "\0\0" "\0\0\0\0" "\0\0\0\0" "\2\0\1\0" "user\0/cwd\0\0\0\0" "sh\0-c\0A=b";
	assert(parse(whole, sizeof whole, &request) == 0);
	assert(strcmp(request.user, "user") == 0 && strcmp(request.cwd, "/cwd") == 0);
	assert(strcmp(request.program, "sh") == 0 && request.options == 0);
	assert(strcmp(request.argv[0], "sh") == 0 && strcmp(request.argv[1], "-c") == 0 && request.argv[2] == NULL);
	assert(request.env_count == 1 && strcmp(request.env[0], "A=b") == 0);
	for (size_t cut = 0; cut < sizeof whole; cut++)
		assert(parse(whole, cut, &request) == EPROTO);
	assert(parse("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 19, &request) == EPROTO);
	assert(parse("\0\0\0\0\0\0\0\0\0\0\377\377\0\0", 14, &request) == E2BIG);
	assert(parse("\0\0\0\0\0\0\0\0\0\0\1\0\1\4", 14, &request) == E2BIG);

	static const char kept[] = "\3\0" "\30\0\120\0" "\0\0\4\0" "\1\0\0\0" "\0\0bash\0id\0label\0-bash";
	assert(parse(kept, sizeof kept, &request) == 0);
	assert(request.options == (RUN_TERMINAL | RUN_KEEP) && request.rows == 24 && request.columns == 80);
	assert(request.log_bytes == 256 * 1024 && strcmp(request.program, "bash") == 0);
	assert(strcmp(request.kept_id, "id") == 0 && strcmp(request.argv[0], "-bash") == 0);
	assert(parse("\4\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0id\0\0x", 23, &request) == EINVAL);
	assert(parse("\10\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0x", 21, &request) == EINVAL);
	assert(parse("\2\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0id\0\0x", 23, &request) == EINVAL);
}

// Compares the log with the expected content: each byte of an output is a function of its offset.
static uint8_t byte_at(uint64_t offset)
{
	return (uint8_t)(offset * 131 >> 3);
}

static void follow(const struct output_log *log, struct log_cursor *cursor, const uint8_t *outputs, size_t most)
{
	static uint8_t to[70000];
	int output;
	uint64_t offset, expected = cursor->offset < log->oldest_offset ? log->oldest_offset : cursor->offset;
	for (size_t got; (got = output_log_read(log, cursor, to, most, &output, &offset)) > 0; expected += got) {
		assert(offset == expected && got <= most);
		for (size_t i = 0; i < got; i++)
			assert(to[i] == byte_at(offset + i) && outputs[offset + i] == output);
	}
	assert(expected == log->next_offset && cursor->offset == log->next_offset);
}

static void check_output_log(void)
{
	enum { TOTAL = 400000 };
	static uint8_t outputs[TOTAL], part[TOTAL];
	static const size_t rings[] = {64, 100, 4096, 65536};
	for (size_t r = 0; r < sizeof rings / sizeof *rings; r++) {
		struct output_log log;
		assert(output_log_open(&log, rings[r]));
		struct log_cursor eager = output_log_seek(&log, 0), lazy = eager;
		srand(7);
		for (uint64_t written = 0; written < TOTAL - 3000;) {
			size_t count = 1 + (size_t)rand() % (rand() % 4 == 0 ? 3000 : 20);
			int output = rand() % 3 == 0;
			for (size_t i = 0; i < count; i++) {
				part[i] = byte_at(written + i);
				outputs[written + i] = (uint8_t)output;
			}
			output_log_append(&log, output, part, count);
			written += count;
			assert(log.next_offset == written && log.end - log.start <= log.ring_bytes);
			if (rand() % 5 != 0)
				follow(&log, &eager, outputs, 1 + (size_t)rand() % 5000);
			if (rand() % 50 == 0)
				follow(&log, &lazy, outputs, 1 + (size_t)rand() % 50);
			uint64_t wanted = written < 5000 ? 0 : written - (uint64_t)rand() % 5000;
			struct log_cursor late = output_log_seek(&log, wanted);
			assert(late.offset == (wanted < log.oldest_offset ? log.oldest_offset : wanted));
			follow(&log, &late, outputs, 70000);
		}
		// The log keeps as much as fits. Headers take little room when an output is written in large pieces.
		assert(log.next_offset - log.oldest_offset >= rings[r] / 8);
		output_log_close(&log);
	}
}

static void check_tar_round_trip(size_t name_bytes, size_t target_bytes, uint64_t size)
{
	static struct tar_header made, seen;
	static struct tar_extra extra, global;
	static uint8_t encoded[TAR_ENCODED_MAX_BYTES];
	memset(&made, 0, sizeof made);
	memset(&extra, 0, sizeof extra);
	made.kind = target_bytes > 0 ? TAR_LINK : TAR_FILE;
	made.mode = 0640;
	made.mtime_s = 1700000000;
	made.size_bytes = size;
	memset(made.name, 0xfe, name_bytes);
	memset(made.target, 't', target_bytes);
	size_t count = tar_encode(&made, encoded);
	assert(count % TAR_BLOCK_BYTES == 0 && count <= sizeof encoded && tar_parse(encoded, &seen));
	if (seen.kind == TAR_PAX) {
		assert(tar_take_extra(TAR_PAX, encoded + TAR_BLOCK_BYTES, seen.size_bytes, &extra, &global) == 0);
		assert(tar_parse(encoded + count - TAR_BLOCK_BYTES, &seen));
	} else {
		assert(count == TAR_BLOCK_BYTES);
	}
	tar_apply_extra(&seen, &extra, &global);
	assert(seen.kind == made.kind && seen.mode == made.mode && seen.mtime_s == made.mtime_s);
	assert(seen.size_bytes == size && strcmp(seen.name, made.name) == 0 && strcmp(seen.target, made.target) == 0);
}

static void check_tar(void)
{
	static struct tar_extra extra;
	for (size_t count = 1; count < 4095; count += count < 300 ? 1 : 97) {
		check_tar_round_trip(count, 0, count);
		check_tar_round_trip(1, count, 0);
		check_tar_round_trip(count, count, 0);
	}
	check_tar_round_trip(5, 0, 077777777777);
	check_tar_round_trip(5, 0, 0100000000000);
	check_tar_round_trip(4095, 0, 5ULL << 40);

	static const char *const bad[] = {"9", "6 a=b\n7", "5 a=b\n", "7 a=b\n", "6 path\n", "0 a=\n", "x", "999999999 a=b\n"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert(tar_take_extra(TAR_PAX, (const uint8_t *)bad[i], strlen(bad[i]), &extra, &extra) == EBADMSG);
	assert(tar_take_extra(TAR_PAX, (const uint8_t *)"6 a=b\n11 path=xy\n", 17, &extra, &extra) == 0);
	assert(strcmp(extra.name, "xy") == 0);
	assert(tar_take_extra(TAR_GNU_TARGET, (const uint8_t *)"to\0", 3, &extra, &extra) == 0);
	assert(extra.has_target && strcmp(extra.target, "to") == 0);
	static uint8_t too_long[TAR_TEXT_MAX_BYTES];
	memset(too_long, 'x', sizeof too_long);
	assert(tar_take_extra(TAR_GNU_NAME, too_long, sizeof too_long, &extra, &extra) == ENAMETOOLONG);
}

enum { REFRESH_BYTES = 18 + 3 + MACHINE_ID_BYTES + ENTROPY_MIN_BYTES + 8 + 13 + 4 };

// Host name "box", 32 bytes of entropy, a MAC and an address, one variable "A=b".
static void make_refresh(uint8_t message[REFRESH_BYTES])
{
	static const uint8_t fields[] = {REFRESH_MAC, MAC_BYTES, 2, 0, 0, 0, 0, 9, REFRESH_ADDRESS, 11, 10, 1, 2, 6, 30, 10, 1, 2, 5, 0x78, 0x05};
	memset(message, 0, REFRESH_BYTES);
	write_u64(message, 1234567890123456789u);
	write_u16(message + 10, 3);
	write_u16(message + 12, ENTROPY_MIN_BYTES);
	write_u16(message + 14, 1);
	write_u16(message + 16, sizeof fields);
	uint8_t *at = message + 18;
	memcpy(at, "box", 3);
	memset(at + 3, 'a', MACHINE_ID_BYTES);
	memset(at + 3 + MACHINE_ID_BYTES, 7, ENTROPY_MIN_BYTES);
	memcpy(at + 3 + MACHINE_ID_BYTES + ENTROPY_MIN_BYTES, fields, sizeof fields);
	memcpy(message + REFRESH_BYTES - 4, "A=b", 4);
}

// Copies each message to memory of exactly its size, so that the sanitizer finds reads beyond its end.
static bool parses(const uint8_t *message, size_t count, struct refresh_request *request)
{
	uint8_t *exact = malloc(count == 0 ? 1 : count);
	memcpy(exact, message, count);
	bool is_good = refresh_request_parse(request, exact, count);
	free(exact);
	return is_good;
}

static void check_refresh_request(void)
{
	static struct refresh_request request;
	uint8_t message[REFRESH_BYTES];
	make_refresh(message);
	assert(refresh_request_parse(&request, message, sizeof message));
	assert(request.time_ns == 1234567890123456789u && strcmp(request.hostname, "box") == 0);
	assert(request.has_mac && request.mac[5] == 9 && !request.keeps_env);
	assert(request.has_address && request.address.address[3] == 6 && request.address.prefix_bits == 30);
	assert(request.address.gateway[3] == 5 && request.address.mtu == 1400);
	assert(request.entropy_bytes == ENTROPY_MIN_BYTES && request.entropy[0] == 7);
	assert(request.env_count == 1 && request.env_bytes == 4 && memcmp(request.env, "A=b", 4) == 0);
	for (size_t count = 0; count < sizeof message; count++)
		assert(!parses(message, count, &request));

	write_u16(message + 8, REFRESH_KEEP_ENV);
	assert(!parses(message, sizeof message, &request)); // keeps the old variables and has new ones
	write_u16(message + 14, 0);
	assert(parses(message, sizeof message - 4, &request) && request.keeps_env);
	write_u16(message + 8, 2);
	assert(!parses(message, sizeof message - 4, &request)); // an option of a later version

	size_t field_at = 18 + 3 + MACHINE_ID_BYTES + ENTROPY_MIN_BYTES;
	make_refresh(message);
	message[field_at] = 99; // a field of a later version
	assert(!parses(message, sizeof message, &request));
	make_refresh(message);
	message[field_at + 1] = MAC_BYTES - 1;
	assert(!parses(message, sizeof message, &request));
	message[field_at + 1] = 255;
	assert(!parses(message, sizeof message, &request));
	static const struct { uint8_t at, value; } bad_addresses[] = {{0, REFRESH_MAC}, {1, 10}, {1, 12}, {6, 0}, {6, 31}, {12, 1}};
	for (size_t i = 0; i < sizeof bad_addresses / sizeof *bad_addresses; i++) {
		make_refresh(message);
		message[field_at + 8 + bad_addresses[i].at] = bad_addresses[i].value;
		assert(!parses(message, sizeof message, &request));
	}
	make_refresh(message);
	uint8_t volumes[] = {REFRESH_VOLUMES, 1, 5, REFRESH_VOLUMES, 1, 0, 0, 0};
	memcpy(message + field_at, volumes, sizeof volumes);
	assert(!parses(message, sizeof message, &request)); // the field twice, and one without a type
	write_u16(message + 16, 3);
	write_u16(message + 14, 0);
	assert(parses(message, field_at + 3, &request) && request.has_volumes && request.volumes == 5 && !request.has_mac);
	message[field_at + 1] = 0;
	assert(!parses(message, field_at + 3, &request));
	make_refresh(message);
	message[18] = '-';
	assert(!parses(message, sizeof message, &request));
}

int main(void)
{
	check_every_cut();
	check_refresh_request();
	check_every_size();
	check_cut_by_death();
	check_lost();
	check_run_request();
	check_output_log();
	check_tar();
	puts("guest: all checks hold");
	return 0;
}
