/* What the files of the zygote share (zygote.c). */
#ifndef ZYGOTE_H
#define ZYGOTE_H

#include <stdint.h>

#define ZYGOTE_MAX_THREADS 64
/* The kernel passes 253 at once (SCM_MAX_FD). */
#define ZYGOTE_MAX_DESCRIPTORS 250

/* What becomes of a descriptor that comes with a request; from 0 on: it takes the place of the one with that number. */
#define ZYGOTE_NAMESPACE (-1)
#define ZYGOTE_GROUP (-2)

/* From the launcher to the zygote: the first of a connection, with the descriptors. */
struct zygote_request {
	/* User and group of the child. */
	int32_t uid;
	/* The descriptor on which it serves images of its memory (memory-image.c); -1: none. */
	int32_t images;
	/*
	 * The child will continue another VM (zygote-state.c). This descriptor lists the pages that the zygote has written, the next one those that
	 * it has used, and those after it are pages and runs of each layer of the other VM's memory, the lowest first. -1: it will not.
	 */
	int32_t memory, layer_count;
	/* Every thread of the zygote, except the one that serves requests. */
	int32_t thread_count, threads[ZYGOTE_MAX_THREADS];
	int32_t target_count, targets[ZYGOTE_MAX_DESCRIPTORS];
	/* Descriptors of the zygote: event counters, of which the child gets its own, and those that it may share. */
	int32_t counter_count, counters[ZYGOTE_MAX_DESCRIPTORS];
	int32_t shared_count, shared[ZYGOTE_MAX_DESCRIPTORS];
};

enum zygote_kind {
	/* From the zygote: all threads stand still. */
	ZYGOTE_PARKED = 1,
	/* From the launcher: no thread was missing, or one was. */
	ZYGOTE_GO,
	ZYGOTE_STOP,
	/* From the zygote: `value` is the process id of the child, which waits for the launcher's ZYGOTE_GO. */
	ZYGOTE_FORKED,
	/* From the child: it runs. */
	ZYGOTE_READY,
	/* From either: `value` is the error number, or the descriptor that nobody named. */
	ZYGOTE_FAILED,
};

/* Every other message of the connection, in both directions. */
struct zygote_message {
	int32_t kind, value;
	char step[56];
};

#endif
