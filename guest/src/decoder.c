#include "decoder.h"

#include <string.h>

#include "bytes.h"

enum { LENGTH_END = 4 }; // header bytes up to the end of the payload length

void decoder_lose(struct decoder *decoder)
{
	decoder->used = 0;
	decoder->zeros = 0;
	decoder->lost = true;
}

static size_t skip_until_found(struct decoder *decoder, const uint8_t *input, size_t input_bytes)
{
	size_t at = 0;
	while (at < input_bytes) {
		if (input[at] == 0) {
			decoder->zeros++;
		} else if (decoder->zeros >= FRAME_MAX_BYTES) {
			decoder->lost = false;
			break;
		} else {
			decoder->zeros = 0;
		}
		at++;
	}
	return at;
}

// Copies input until the frame has `wanted` bytes. True when it has them.
static bool fill(struct decoder *decoder, size_t wanted, const uint8_t *input, size_t input_bytes, size_t *at)
{
	size_t lacking = wanted - decoder->used;
	size_t taken = input_bytes - *at < lacking ? input_bytes - *at : lacking;
	memcpy(decoder->bytes + decoder->used, input + *at, taken);
	decoder->used += taken;
	*at += taken;
	return taken == lacking;
}

enum decoded decoder_next(struct decoder *decoder, const uint8_t *input, size_t input_bytes, size_t *consumed,
			  struct frame *frame)
{
	size_t at = 0;
	enum decoded result = DECODED_NOTHING;

	while (at < input_bytes && result == DECODED_NOTHING) {
		if (decoder->lost) {
			at += skip_until_found(decoder, input + at, input_bytes - at);
			continue;
		}
		if (decoder->used == 0 && input[at] == 0) {
			at++;
			continue;
		}
		if (decoder->used < LENGTH_END && !fill(decoder, LENGTH_END, input, input_bytes, &at))
			break;
		// Checked as soon as the length has arrived: otherwise the zeros of the next host would fill up a frame that is none.
		size_t payload_bytes = read_u16(decoder->bytes + 2);
		if (payload_bytes > FRAME_PAYLOAD_MAX_BYTES) {
			decoder_lose(decoder);
			result = DECODED_GARBAGE;
			break;
		}
		size_t frame_bytes = FRAME_HEADER_BYTES + payload_bytes + 1;
		if (!fill(decoder, frame_bytes, input, input_bytes, &at))
			break;

		uint8_t trailer = decoder->bytes[frame_bytes - 1];
		decoder->used = 0;
		if (trailer == FRAME_TRAILER) {
			frame->type = decoder->bytes[0];
			frame->flags = decoder->bytes[1];
			frame->stream = read_u32(decoder->bytes + 4);
			frame->payload = decoder->bytes + FRAME_HEADER_BYTES;
			frame->payload_bytes = payload_bytes;
			result = DECODED_FRAME;
		} else if (trailer != 0) {
			decoder_lose(decoder);
			result = DECODED_GARBAGE;
		}
		// A zero trailer: the host died in this frame and the zeros of the next host filled it up. It is dropped.
	}
	*consumed = at;
	return result;
}
