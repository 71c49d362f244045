// fuzz SECONDS SEED: correct frames, mutated, cut at random, fed to the decoder and the parser of RUN under sanitizers.
// After each round a run of zeros must bring the decoder back to a boundary, whatever came before. The same seed gives
// the same rounds.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bytes.h"
#include "decoder.h"
#include "run-request.h"

enum { INPUT_BYTES = 4 * FRAME_MAX_BYTES };

static uint64_t state;

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return below == 0 ? 0 : (uint32_t)(state >> 33) % below;
}

static size_t make_payload(uint8_t *to)
{
	static const char *const strings[] = {"", "sh", "-c", "true", "A=b", "/tmp", "user"};
	if (draw(2) == 0) {
		size_t count = draw(8) == 0 ? draw(FRAME_PAYLOAD_MAX_BYTES + 1) : draw(64);
		for (size_t i = 0; i < count; i++)
			to[i] = draw(3) == 0 ? 0 : (uint8_t)draw(256);
		return count;
	}
	size_t used = 4;
	write_u16(to, (uint16_t)draw(6));
	write_u16(to + 2, (uint16_t)draw(4));
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
		frame[0] = (uint8_t)(1 + draw(32));
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

static void take(const struct frame *frame)
{
	static struct run_request request;
	// In memory of its own size: a string that runs over its end is caught.
	uint8_t *message = malloc(frame->payload_bytes + 1);
	memcpy(message, frame->payload, frame->payload_bytes);
	if (frame->payload_bytes > FRAME_PAYLOAD_MAX_BYTES || frame->type == 0)
		abort();
	uint8_t *exact = realloc(message, frame->payload_bytes == 0 ? 1 : frame->payload_bytes);
	run_request_parse(&request, exact, frame->payload_bytes);
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
	printf("guest: %lu rounds, %lu frames, nothing found\n", rounds, frames);
	return rounds == 0;
}
