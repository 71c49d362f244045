// Frames out of a byte stream that may be cut anywhere, by a peer that may die anywhere.
#ifndef OFFSHOOT_DECODER_H
#define OFFSHOOT_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

struct frame {
	uint8_t type;
	uint8_t flags;
	uint32_t stream;
	const uint8_t *payload; // valid until the next call on the decoder
	size_t payload_bytes;
};

enum decoded {
	DECODED_NOTHING, // all input is consumed, no frame is complete
	DECODED_FRAME,
	DECODED_GARBAGE, // not a frame: the decoder is lost and finds its way by a run of zeros
};

struct decoder {
	uint8_t bytes[FRAME_MAX_BYTES];
	size_t used;
	size_t zeros; // length of the run of zeros seen while lost
	bool lost;
};

// Takes at most one frame out of `input`; says in `consumed` how far it got.
enum decoded decoder_next(struct decoder *decoder, const uint8_t *input, size_t input_bytes, size_t *consumed,
			  struct frame *frame);

// Forgets everything until FRAME_MAX_BYTES zeros in a row: more than any frame holds, so a sure boundary.
void decoder_lose(struct decoder *decoder);

#endif
