// Constants of the channel. guest/PROTOCOL.md specifies them; packages/contract/src/guest-frame.ts has those of the
// host.
#ifndef OFFSHOOT_PROTOCOL_H
#define OFFSHOOT_PROTOCOL_H

// A test builds a guest that speaks an earlier version only (guest/Makefile).
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

	// RUN and REFRESH may span several frames; their payloads together may have this size.
	MESSAGE_MAX_BYTES = 256 * 1024,
	// The credit window of each direction of a stream at its start, and after its receiver widened it.
	WINDOW_BYTES = 64 * 1024,
	WINDOW_MAX_BYTES = 256 * 1024,
	STREAMS_MAX = 512,
	TCP_LISTENERS_MAX = 64,
	ENVIRONMENT_MAX_ENTRIES = 1024,
	// Kept commands: their number, and the bounds of the log of one and of all logs together.
	KEPT_MAX = 1024,
	// A log starts with so many bytes and grows with its content.
	KEPT_LOG_FIRST_BYTES = 16 * 1024,
	KEPT_LOG_MIN_BYTES = 64 * 1024,
	KEPT_LOG_MAX_BYTES = 16 * 1024 * 1024,
	KEPT_LOGS_MAX_BYTES = 64 * 1024 * 1024,
	KEPT_LOGS_GROWN_MAX_BYTES = KEPT_LOGS_MAX_BYTES - KEPT_MAX * KEPT_LOG_FIRST_BYTES,
	KEPT_ID_MAX_BYTES = 64,
	KEPT_LABEL_MAX_BYTES = 1024,
	NONCE_BYTES = 16,
	BOOT_ID_BYTES = 36,
	MACHINE_ID_BYTES = 32,
	HOSTNAME_MAX_BYTES = 63,
	ENTROPY_MIN_BYTES = 32,
	ENTROPY_MAX_BYTES = 512,
	// Spare block devices of a machine: each can hold one volume.
	VOLUMES_MAX = 8,
};

enum frame_flag {
	FLAG_MORE = 1, // the next frame continues this message
	FLAG_END = 2,  // last frame in this direction of the stream; on RUN: the command has no stdin
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
	FRAME_CONNECT = 47,
	FRAME_LISTEN = 48,
	FRAME_LISTENING = 49,
	FRAME_INCOMING = 50,
	FRAME_ACCEPT = 51,
};

// Options of RUN.
enum run_option {
	RUN_TERMINAL = 1, // the command gets a terminal
	RUN_KEEP = 2,	  // a kept command: it outlives the connection, and its output goes into a log
	RUN_BUILTIN = 4,  // the program is a builtin (builtins.h)
	RUN_WAIT = 8,	  // a kept command waits while an attachment has not read what its log would drop
	RUN_OWNER = 16,	  // a builtin has root's rights, and the user owns what it makes and writes
};

enum refresh_option { REFRESH_KEEP_ENV = 1 };

// Optional fields of REFRESH.
enum refresh_field { REFRESH_MAC = 1, REFRESH_ADDRESS = 2, REFRESH_VOLUMES = 3 };

// The direction that a CREDIT frame grants bytes for.
enum credit_target { CREDIT_STDIN = 0, CREDIT_STDOUT = 1, CREDIT_STDERR = 2 };

#endif
