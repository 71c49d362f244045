// Decodes frames from a byte stream. Reads may end at any byte, and the host may die in the middle of a frame.
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
	DECODED_GARBAGE, // not a frame: the decoder is lost until it has seen FRAME_MAX_BYTES zeros in a row
};

struct decoder {
	uint8_t bytes[FRAME_MAX_BYTES];
	size_t used;
	size_t zeros; // length of the run of zeros seen while lost
	bool lost;
};

// Decodes at most one frame of `input`. Sets `consumed` to the number of bytes it used.
enum decoded decoder_next(struct decoder *decoder, const uint8_t *input, size_t input_bytes, size_t *consumed,
			  struct frame *frame);

// Skips everything up to FRAME_MAX_BYTES zeros in a row. No frame holds so many, so a frame begins after them.
void decoder_lose(struct decoder *decoder);

#endif
