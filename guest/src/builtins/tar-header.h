// Parses and encodes one header of a tar archive (ustar, pax, GNU). No I/O.
#ifndef OFFSHOOT_TAR_HEADER_H
#define OFFSHOOT_TAR_HEADER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TAR_BLOCK_BYTES = 512, TAR_TEXT_MAX_BYTES = PATH_MAX };

enum tar_kind {
	TAR_FILE = '0',
	TAR_HARD_LINK = '1',
	TAR_LINK = '2',
	TAR_CHARACTER_DEVICE = '3',
	TAR_BLOCK_DEVICE = '4',
	TAR_FOLDER = '5',
	TAR_FIFO = '6',
	TAR_GNU_SPARSE = 'S',
	TAR_PAX = 'x',
	TAR_PAX_GLOBAL = 'g',
	TAR_GNU_NAME = 'L',
	TAR_GNU_TARGET = 'K',
};

struct tar_header {
	char kind;		 // of enum tar_kind, or another byte of the header
	uint32_t mode, uid, gid; // an id that is not a number is 0
	uint64_t size_bytes;
	int64_t mtime_s;
	char name[TAR_TEXT_MAX_BYTES];
	char target[TAR_TEXT_MAX_BYTES];
};

// Fields that pax and GNU headers set for the next entry.
struct tar_extra {
	bool has_name, has_target, has_size, has_mtime, has_uid, has_gid;
	uint32_t uid, gid;
	uint64_t size_bytes;
	int64_t mtime_s;
	char name[TAR_TEXT_MAX_BYTES];
	char target[TAR_TEXT_MAX_BYTES];
};

// Returns false when the block is not a tar header.
bool tar_parse(const uint8_t block[TAR_BLOCK_BYTES], struct tar_header *header);
bool tar_is_end(const uint8_t block[TAR_BLOCK_BYTES]);
// Parses a number of a header: octal digits, or binary as in GNU tar. Returns false when it is neither.
bool tar_parse_number(const uint8_t *field, size_t bytes, int64_t *value);

// One record of a pax header. Key and value do not end with NUL.
struct tar_record {
	const char *key, *value;
	size_t key_bytes, value_bytes;
};
// Parses the record at `*at` and moves `*at` behind it. Returns 1; 0 at the end; -1 when it is malformed.
int tar_next_record(const uint8_t *records, size_t count, size_t *at, struct tar_record *record);
bool tar_is_key(const struct tar_record *record, const char *key);
// Parses a decimal number and drops its fraction. Returns false when it is none.
bool tar_decimal(const char *value, size_t bytes, int64_t *to);

// Whether an entry of this kind describes the entry that follows it.
bool tar_is_extra(char kind);
// Parses the content of such an entry: a pax or a GNU header. Returns 0 or an errno.
int tar_take_extra(char kind, const uint8_t *content, size_t count, struct tar_extra *extra, struct tar_extra *global);
// Completes a header with these, and clears `extra`, which describes one entry only.
void tar_apply_extra(struct tar_header *header, struct tar_extra *extra, const struct tar_extra *global);

// Removes "." and needless slashes, in place. Returns 0, or EXDEV for a name with "..", which may leave the folder.
int tar_clean_name(char *name);

// Encodes the header of an entry, with a pax header in front when a field does not fit. Returns the number of bytes.
enum { TAR_ENCODED_MAX_BYTES = 2 * TAR_BLOCK_BYTES + 2 * TAR_TEXT_MAX_BYTES + TAR_BLOCK_BYTES };
size_t tar_encode(const struct tar_header *header, uint8_t to[TAR_ENCODED_MAX_BYTES]);

#endif
