// Standard output of a builtin, buffered. A host that is gone ends the builtin by SIGPIPE, so nothing here fails.
#ifndef OFFSHOOT_ANSWER_H
#define OFFSHOOT_ANSWER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum answer_entry_flag {
	ENTRY_SIZE_UNKNOWN = 1, // the file has content that its size does not tell, as in /proc
};

void answer_bytes(const void *bytes, size_t count);
void answer_u64(uint64_t value);
// The record of a file. `target` is where a link leads; both may be empty.
void answer_entry(const struct stat *about, uint16_t flags, const char *name, const char *target);
void answer_flush(void);

#endif
