// Buffered standard output of a builtin. These never fail: when the host is gone, SIGPIPE ends the builtin.
#ifndef OFFSHOOT_ANSWER_H
#define OFFSHOOT_ANSWER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum answer_entry_flag {
	ENTRY_SIZE_UNKNOWN = 1, // st_size is not the size of the content, as in /proc
};

void answer_bytes(const void *bytes, size_t count);
void answer_u64(uint64_t value);
// Writes the record of a file. `target` is that of a symbolic link. Both may be empty.
void answer_entry(const struct stat *about, uint16_t flags, const char *name, const char *target);
// The record of a file with more about it. `name` may be a path.
struct entry_details {
	const char *target;	 // of a symbolic link, else ""
	const char *target_path; // absolute, of what the link leads to; "" if that is unknown
	mode_t target_mode;	 // of what the link leads to; 0 if that is unknown
	const char *user;	 // NULL without a name; at most 255 bytes
	const char *group;
};
void answer_detailed_entry(const struct stat *about, const char *name, const struct entry_details *details);
void answer_flush(void);

#endif
