// Constants of the channel. guest/PROTOCOL.md is the specification; packages/contract/src/guest-frame.ts is the other side.
#ifndef OFFSHOOT_PROTOCOL_H
#define OFFSHOOT_PROTOCOL_H

// A test builds a guest that speaks an earlier version only.
#ifndef OFFSHOOT_PROTOCOL_VERSION
#define OFFSHOOT_PROTOCOL_VERSION 6
#endif

enum {
	PROTOCOL_VERSION = OFFSHOOT_PROTOCOL_VERSION,
	PROTOCOL_MIN_VERSION = 5,

	FRAME_HEADER_BYTES = 8,
	FRAME_PAYLOAD_MAX_BYTES = 16384,
	FRAME_TRAILER = 0xA5,
	FRAME_MAX_BYTES = FRAME_HEADER_BYTES + FRAME_PAYLOAD_MAX_BYTES + 1,

	// RUN and REFRESH may span several frames; this is the most their parts may add up to.
	MESSAGE_MAX_BYTES = 256 * 1024,
	// What each direction of a stream starts with, and to what its receiver may widen it.
	WINDOW_BYTES = 64 * 1024,
	WINDOW_MAX_BYTES = 256 * 1024,
	STREAMS_MAX = 512,
	ENVIRONMENT_MAX_ENTRIES = 1024,
	// Kept commands: how many, and the memory for the output of one and of all.
	KEPT_MAX = 64,
	KEPT_LOG_MIN_BYTES = 64 * 1024,
	KEPT_LOG_MAX_BYTES = 16 * 1024 * 1024,
	KEPT_LOGS_MAX_BYTES = 64 * 1024 * 1024,
	KEPT_ID_MAX_BYTES = 64,
	KEPT_LABEL_MAX_BYTES = 120,
	NONCE_BYTES = 16,
	BOOT_ID_BYTES = 36,
	MACHINE_ID_BYTES = 32,
	HOSTNAME_MAX_BYTES = 63,
	ENTROPY_MIN_BYTES = 32,
	ENTROPY_MAX_BYTES = 512,
	// Spare block devices of a machine.
	VOLUMES_MAX = 8,
};

enum frame_flag {
	FLAG_MORE = 1, // the message goes on in the next frame
	FLAG_END = 2,  // nothing follows in this direction of the stream; on RUN: there is no stdin
};

enum frame_type {
	FRAME_HELLO = 1,
	FRAME_HELLO_ACK = 2,
	FRAME_PING = 3,
	FRAME_PONG = 4,
	FRAME_REFRESH = 5,
	FRAME_REFRESHED = 6,
	FRAME_QUIESCE = 7,
	FRAME_QUIESCED = 8,
	FRAME_ERROR = 9,
	FRAME_RESET = 10,
	FRAME_HOLD = 11,
	FRAME_HELD = 12,
	FRAME_RELEASE = 13,
	FRAME_RELEASED = 14,
	FRAME_SETTLED = 15,

	FRAME_RUN = 16,
	FRAME_STDIN = 17,
	FRAME_CREDIT = 18,
	FRAME_KILL = 19,
	FRAME_RESIZE = 20,
	FRAME_ATTACH = 21,
	FRAME_DETACH = 22,
	FRAME_STARTED = 24,
	FRAME_FAILED = 25,
	FRAME_STDOUT = 26,
	FRAME_STDERR = 27,
	FRAME_EXIT = 28,
	FRAME_STDIN_CLOSED = 29,
	FRAME_ATTACHED = 30,
	FRAME_LOG = 31,

	FRAME_KEPT = 32,
	FRAME_KEPT_LIST = 33,
	FRAME_SIGNAL = 34,
	FRAME_FORGET = 35,
	FRAME_DONE = 36,

	FRAME_DIAL = 40,
	FRAME_CONNECTED = 41,
	FRAME_CLOSED = 42,
	FRAME_LISTENERS = 43,
	FRAME_LISTENER_LIST = 44,
	FRAME_MEMORY = 45,
	FRAME_MEMORY_USAGE = 46,
};

// How a RUN wants its command.
enum run_option {
	RUN_TERMINAL = 1, // on a terminal of its own
	RUN_KEEP = 2,	  // belongs to no connection, its output is kept
	RUN_BUILTIN = 4,  // the program is a name of builtins.h
};

enum refresh_option { REFRESH_KEEP_ENV = 1 };

// What a REFRESH may hold besides.
enum refresh_field { REFRESH_MAC = 1, REFRESH_ADDRESS = 2, REFRESH_VOLUMES = 3 };

// What a CREDIT frame speaks of.
enum credit_target { CREDIT_STDIN = 0, CREDIT_STDOUT = 1, CREDIT_STDERR = 2 };

#endif
