// fuzz SECONDS SEED: mutates correct frames, cuts them at random, and feeds them to the decoder and to the parsers of
// RUN, REFRESH and tar, with sanitizers. After each round a run of zeros must bring the decoder back to a frame
// boundary. The same seed gives the same rounds.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "builtins/tar-header.h"
#include "bytes.h"
#include "decoder.h"
#include "refresh-request.h"
#include "run-request.h"

enum { INPUT_BYTES = 4 * FRAME_MAX_BYTES };

static uint64_t state;

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return below == 0 ? 0 : (uint32_t)(state >> 33) % below;
}

// A REFRESH with fields and a variable, each sometimes of a wrong length.
static size_t make_refresh(uint8_t *to)
{
	size_t hostname_bytes = 1 + draw(6), entropy_bytes = ENTROPY_MIN_BYTES + draw(8), fields_bytes = 8 * draw(3) + 13 * draw(2);
	bool has_env = draw(2) == 0;
	memset(to, 0, 18);
	write_u16(to + 8, (uint16_t)(draw(4) == 0 ? draw(4) : !has_env));
	write_u16(to + 10, (uint16_t)(hostname_bytes + (draw(8) == 0)));
	write_u16(to + 12, (uint16_t)(entropy_bytes + (draw(8) == 0)));
	write_u16(to + 14, has_env);
	write_u16(to + 16, (uint16_t)(fields_bytes + (draw(8) == 0)));
	size_t used = 18;
	memset(to + used, 'a', hostname_bytes + MACHINE_ID_BYTES + entropy_bytes);
	used += hostname_bytes + MACHINE_ID_BYTES + entropy_bytes;
	for (size_t i = 0; i < fields_bytes; i++)
		to[used++] = i % 8 == 0 ? REFRESH_MAC : i % 8 == 1 ? (uint8_t)(draw(4) == 0 ? draw(20) : MAC_BYTES) : 9;
	if (fields_bytes % 8 == 5) {
		uint8_t *field = to + used - 13;
		field[0] = REFRESH_ADDRESS;
		field[1] = (uint8_t)(draw(4) == 0 ? draw(20) : 11);
		field[6] = (uint8_t)draw(33);
	}
	memcpy(to + used, "A=b", 4);
	return used + (has_env ? 4 : 0);
}

static size_t make_payload(uint8_t *to)
{
	if (draw(4) == 0)
		return make_refresh(to);
	static const char *const strings[] = {"", "sh", "-c", "true", "A=b", "/tmp", "user"};
	if (draw(2) == 0) {
		size_t count = draw(8) == 0 ? draw(FRAME_PAYLOAD_MAX_BYTES + 1) : draw(64);
		for (size_t i = 0; i < count; i++)
			to[i] = draw(3) == 0 ? 0 : (uint8_t)draw(256);
		return count;
	}
	size_t used = 14;
	memset(to, 0, used);
	write_u16(to, (uint16_t)draw(10));
	write_u32(to + 6, draw(2) == 0 ? 0 : 65536);
	write_u16(to + 10, (uint16_t)draw(6));
	write_u16(to + 12, (uint16_t)draw(4));
	for (uint32_t left = draw(12); left > 0; left--) {
		const char *string = strings[draw(sizeof strings / sizeof *strings)];
		memcpy(to + used, string, strlen(string) + 1);
		used += strlen(string) + 1;
	}
	return used;
}

static size_t make_input(uint8_t *to)
{
	size_t used = 0;
	for (uint32_t frames = 1 + draw(4); frames > 0 && INPUT_BYTES - used >= FRAME_MAX_BYTES; frames--) {
		uint8_t *frame = to + used;
		size_t payload_bytes = make_payload(frame + FRAME_HEADER_BYTES);
		frame[0] = (uint8_t)(1 + draw(46));
		frame[1] = (uint8_t)draw(4);
		write_u16(frame + 2, (uint16_t)payload_bytes);
		write_u32(frame + 4, draw(5));
		frame[FRAME_HEADER_BYTES + payload_bytes] = FRAME_TRAILER;
		used += FRAME_HEADER_BYTES + payload_bytes + 1;
	}
	for (uint32_t mutations = draw(6); mutations > 0; mutations--)
		to[draw((uint32_t)used)] = draw(2) == 0 ? 0 : (uint8_t)draw(256);
	return draw(4) == 0 ? draw((uint32_t)used + 1) : used;
}

// A correct tar header with some bytes changed and a correct checksum, so that the parser goes beyond the checksum.
static void take_tar(const uint8_t *payload, size_t count)
{
	static struct tar_header header;
	static struct tar_extra extra, global;
	static uint8_t encoded[TAR_ENCODED_MAX_BYTES];
	memset(&header, 0, sizeof header);
	memset(&extra, 0, sizeof extra);
	header.kind = TAR_FILE;
	header.size_bytes = (uint64_t)draw(1000000) << draw(40);
	memset(header.name, 'n', draw(400));
	memset(header.target, 't', draw(400));
	size_t made = tar_encode(&header, encoded);
	uint8_t *block = malloc(TAR_BLOCK_BYTES);
	memcpy(block, encoded + made - TAR_BLOCK_BYTES, TAR_BLOCK_BYTES);
	for (uint32_t changes = draw(20); changes > 0; changes--)
		block[draw(TAR_BLOCK_BYTES)] = (uint8_t)draw(256);
	unsigned int sum = 0;
	for (size_t i = 0; i < TAR_BLOCK_BYTES; i++)
		sum += i >= 148 && i < 156 ? ' ' : block[i];
	char digits[16];
	snprintf(digits, sizeof digits, "%06o", sum);
	memcpy(block + 148, digits, 7);
	block[155] = ' ';
	if (tar_parse(block, &header))
		tar_apply_extra(&header, &extra, &global);
	free(block);
	tar_take_extra(TAR_PAX, payload, count, &extra, &global);
	if (made <= TAR_BLOCK_BYTES * 2)
		return;
	size_t records = made - 2 * TAR_BLOCK_BYTES;
	uint8_t *exact = malloc(records);
	memcpy(exact, encoded + TAR_BLOCK_BYTES, records);
	for (uint32_t changes = draw(4); changes > 0; changes--)
		exact[draw((uint32_t)records)] = (uint8_t)draw(256);
	static const char kinds[] = {TAR_PAX, TAR_PAX_GLOBAL, TAR_GNU_NAME, TAR_GNU_TARGET};
	tar_take_extra(kinds[draw(4)], exact, records, &extra, &global);
	free(exact);
}

static void take(const struct frame *frame)
{
	static struct run_request request;
	static struct refresh_request refresh;
	// Copied to memory of exactly its size, so that the sanitizer finds reads beyond its end.
	uint8_t *message = malloc(frame->payload_bytes + 1);
	memcpy(message, frame->payload, frame->payload_bytes);
	if (frame->payload_bytes > FRAME_PAYLOAD_MAX_BYTES || frame->type == 0)
		abort();
	uint8_t *exact = realloc(message, frame->payload_bytes == 0 ? 1 : frame->payload_bytes);
	run_request_parse(&request, exact, frame->payload_bytes);
	refresh_request_parse(&refresh, exact, frame->payload_bytes);
	take_tar(exact, frame->payload_bytes);
	free(exact);
}

static size_t feed(struct decoder *decoder, const uint8_t *input, size_t count)
{
	size_t frames = 0;
	for (size_t at = 0; at < count;) {
		size_t piece_bytes = 1 + draw(draw(2) == 0 ? 16 : 20000);
		if (piece_bytes > count - at)
			piece_bytes = count - at;
		uint8_t *piece = malloc(piece_bytes);
		memcpy(piece, input + at, piece_bytes);
		for (size_t done = 0; done < piece_bytes;) {
			size_t consumed;
			struct frame frame;
			enum decoded decoded = decoder_next(decoder, piece + done, piece_bytes - done, &consumed, &frame);
			if (consumed == 0)
				abort();
			done += consumed;
			if (decoded == DECODED_FRAME) {
				take(&frame);
				frames++;
			}
		}
		free(piece);
		at += piece_bytes;
	}
	return frames;
}

int main(int argc, char **argv)
{
	static uint8_t input[INPUT_BYTES];
	static const uint8_t zeros[FRAME_MAX_BYTES];
	static const uint8_t ping[] = {3, 0, 0, 0, 9, 0, 0, 0, FRAME_TRAILER};
	static struct decoder decoder;
	long seconds = argc > 1 ? atol(argv[1]) : 20;
	state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

	unsigned long rounds = 0, frames = 0;
	for (time_t end = time(NULL) + seconds; time(NULL) < end; rounds++) {
		frames += feed(&decoder, input, make_input(input));
		feed(&decoder, zeros, sizeof zeros);
		if (feed(&decoder, ping, sizeof ping) != 1)
			abort();
	}
	printf("guest: %lu rounds, %lu frames, no errors\n", rounds, frames);
	return rounds == 0;
}
