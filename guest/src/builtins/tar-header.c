#include "builtins/tar-header.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Offsets and lengths of the fields of a header block.
enum {
	NAME_AT = 0, NAME_BYTES = 100,
	MODE_AT = 100, ID_BYTES = 8,
	UID_AT = 108,
	GID_AT = 116,
	SIZE_AT = 124, NUMBER_BYTES = 12,
	MTIME_AT = 136,
	SUM_AT = 148, SUM_BYTES = 8,
	KIND_AT = 156,
	TARGET_AT = 157,
	MAGIC_AT = 257,
	PREFIX_AT = 345, PREFIX_BYTES = 155,
};
static const uint64_t SIZE_FIELD_MAX = 077777777777;

// GNU tar: big-endian binary, marked by the highest bit of the first byte.
static bool parse_binary(const uint8_t *field, size_t bytes, int64_t *value)
{
	// Refuses values of more than 63 bits, and negative ones: no size or time needs them.
	uint64_t sum = field[0] & 0x7f;
	for (size_t i = 1; i < bytes; i++) {
		if (sum > (uint64_t)INT64_MAX >> 8)
			return false;
		sum = sum << 8 | field[i];
	}
	*value = (int64_t)sum;
	return true;
}

bool tar_parse_number(const uint8_t *field, size_t bytes, int64_t *value)
{
	if ((field[0] & 0x80) != 0)
		return parse_binary(field, bytes, value);
	uint64_t sum = 0;
	size_t at = 0;
	while (at < bytes && field[at] == ' ')
		at++;
	for (; at < bytes && field[at] >= '0' && field[at] <= '7'; at++)
		sum = sum << 3 | (uint64_t)(field[at] - '0');
	*value = (int64_t)sum;
	return at == bytes || field[at] == ' ' || field[at] == '\0';
}

static uint32_t parse_id(const uint8_t *field)
{
	int64_t id;
	return tar_parse_number(field, ID_BYTES, &id) && id >= 0 && id < UINT32_MAX ? (uint32_t)id : 0;
}

static uint32_t checksum(const uint8_t *block)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < TAR_BLOCK_BYTES; i++)
		sum += i >= SUM_AT && i < SUM_AT + SUM_BYTES ? ' ' : block[i];
	return sum;
}

bool tar_is_end(const uint8_t block[TAR_BLOCK_BYTES])
{
	static const uint8_t zeros[TAR_BLOCK_BYTES];
	return memcmp(block, zeros, TAR_BLOCK_BYTES) == 0;
}

static void take_name(const uint8_t *block, char *name)
{
	// Only POSIX headers have a prefix: with GNU's magic ("ustar  ") these bytes have another meaning.
	size_t prefix_bytes = memcmp(block + MAGIC_AT, "ustar\0", 6) == 0
				      ? strnlen((const char *)block + PREFIX_AT, PREFIX_BYTES)
				      : 0;
	snprintf(name, TAR_TEXT_MAX_BYTES, "%.*s%s%.*s", (int)prefix_bytes, (const char *)block + PREFIX_AT,
		 prefix_bytes > 0 ? "/" : "", (int)strnlen((const char *)block + NAME_AT, NAME_BYTES),
		 (const char *)block + NAME_AT);
}

bool tar_parse(const uint8_t block[TAR_BLOCK_BYTES], struct tar_header *header)
{
	int64_t sum, mode, size;
	if (!tar_parse_number(block + SUM_AT, SUM_BYTES, &sum) || sum != (int64_t)checksum(block) ||
	    !tar_parse_number(block + MODE_AT, ID_BYTES, &mode) || !tar_parse_number(block + SIZE_AT, NUMBER_BYTES, &size) ||
	    !tar_parse_number(block + MTIME_AT, NUMBER_BYTES, &header->mtime_s) || size < 0)
		return false;
	header->kind = (char)block[KIND_AT];
	// NUL is a file in old archives, '7' is a contiguous file.
	if (header->kind == '\0' || header->kind == '7')
		header->kind = TAR_FILE;
	header->mode = (uint32_t)mode & 07777;
	header->uid = parse_id(block + UID_AT);
	header->gid = parse_id(block + GID_AT);
	header->size_bytes = (uint64_t)size;
	take_name(block, header->name);
	snprintf(header->target, TAR_TEXT_MAX_BYTES, "%.*s", (int)strnlen((const char *)block + TARGET_AT, NAME_BYTES),
		 (const char *)block + TARGET_AT);
	return true;
}

static bool take_text(const char *value, size_t bytes, char *to, bool *has)
{
	if (bytes >= TAR_TEXT_MAX_BYTES || memchr(value, 0, bytes) != NULL)
		return false;
	memcpy(to, value, bytes);
	to[bytes] = '\0';
	*has = true;
	return true;
}

bool tar_decimal(const char *value, size_t bytes, int64_t *to)
{
	char text[24];
	size_t whole = 0;
	while (whole < bytes && whole < sizeof text - 1 && value[whole] != '.')
		whole++;
	memcpy(text, value, whole);
	text[whole] = '\0';
	char *end;
	*to = strtoll(text, &end, 10);
	return whole > 0 && *end == '\0';
}

bool tar_is_key(const struct tar_record *record, const char *key)
{
	return record->key_bytes == strlen(key) && memcmp(record->key, key, record->key_bytes) == 0;
}

static bool take_id(const struct tar_record *record, uint32_t *to, bool *has)
{
	int64_t id;
	*has = tar_decimal(record->value, record->value_bytes, &id) && id >= 0 && id < UINT32_MAX;
	*to = *has ? (uint32_t)id : 0;
	return *has;
}

static bool take_record(const struct tar_record *record, struct tar_extra *extra)
{
	const char *value = record->value;
	size_t value_bytes = record->value_bytes;
	int64_t size = 0;
	if (tar_is_key(record, "path"))
		return take_text(value, value_bytes, extra->name, &extra->has_name);
	if (tar_is_key(record, "linkpath"))
		return take_text(value, value_bytes, extra->target, &extra->has_target);
	if (tar_is_key(record, "mtime"))
		return extra->has_mtime = tar_decimal(value, value_bytes, &extra->mtime_s);
	if (tar_is_key(record, "uid"))
		return take_id(record, &extra->uid, &extra->has_uid);
	if (tar_is_key(record, "gid"))
		return take_id(record, &extra->gid, &extra->has_gid);
	if (!tar_is_key(record, "size"))
		return true;
	extra->has_size = tar_decimal(value, value_bytes, &size) && size >= 0;
	extra->size_bytes = (uint64_t)size;
	return extra->has_size;
}

// A record is "LENGTH KEY=VALUE\n". LENGTH counts all bytes of it, its own digits included.
int tar_next_record(const uint8_t *records, size_t count, size_t *at, struct tar_record *record)
{
	if (*at >= count || records[*at] == '\0')
		return 0;
	const uint8_t *here = records + *at;
	size_t record_bytes = 0, digits = 0, left = count - *at;
	while (digits < left && digits < 8 && here[digits] >= '0' && here[digits] <= '9')
		record_bytes = record_bytes * 10 + (size_t)(here[digits++] - '0');
	if (digits == 0 || record_bytes > left || record_bytes < digits + 3 || here[digits] != ' ' ||
	    here[record_bytes - 1] != '\n')
		return -1;
	record->key = (const char *)here + digits + 1;
	size_t text_bytes = record_bytes - digits - 2;
	const char *equals = memchr(record->key, '=', text_bytes);
	if (equals == NULL)
		return -1;
	record->key_bytes = (size_t)(equals - record->key);
	record->value = equals + 1;
	record->value_bytes = text_bytes - record->key_bytes - 1;
	*at += record_bytes;
	return 1;
}

// Returns false when a record is malformed or a name is too long.
static bool parse_pax(const uint8_t *records, size_t count, struct tar_extra *extra)
{
	struct tar_record record;
	int found;
	for (size_t at = 0; (found = tar_next_record(records, count, &at, &record)) == 1;)
		if (!take_record(&record, extra))
			return false;
	return found == 0;
}

bool tar_is_extra(char kind)
{
	return kind == TAR_PAX || kind == TAR_PAX_GLOBAL || kind == TAR_GNU_NAME || kind == TAR_GNU_TARGET;
}

int tar_take_extra(char kind, const uint8_t *content, size_t count, struct tar_extra *extra, struct tar_extra *global)
{
	if (kind == TAR_PAX || kind == TAR_PAX_GLOBAL)
		return parse_pax(content, count, kind == TAR_PAX ? extra : global) ? 0 : EBADMSG;
	size_t text_bytes = strnlen((const char *)content, count);
	if (text_bytes >= TAR_TEXT_MAX_BYTES)
		return ENAMETOOLONG;
	char *to = kind == TAR_GNU_NAME ? extra->name : extra->target;
	memcpy(to, content, text_bytes);
	to[text_bytes] = '\0';
	*(kind == TAR_GNU_NAME ? &extra->has_name : &extra->has_target) = true;
	return 0;
}

static void apply(struct tar_header *header, const struct tar_extra *extra)
{
	if (extra->has_name)
		memcpy(header->name, extra->name, sizeof header->name);
	if (extra->has_target)
		memcpy(header->target, extra->target, sizeof header->target);
	if (extra->has_size)
		header->size_bytes = extra->size_bytes;
	if (extra->has_mtime)
		header->mtime_s = extra->mtime_s;
	if (extra->has_uid)
		header->uid = extra->uid;
	if (extra->has_gid)
		header->gid = extra->gid;
}

void tar_apply_extra(struct tar_header *header, struct tar_extra *extra, const struct tar_extra *global)
{
	apply(header, global);
	apply(header, extra);
	extra->has_name = extra->has_target = extra->has_size = extra->has_mtime = extra->has_uid = extra->has_gid = false;
}

static size_t make_block(uint8_t *block, const struct tar_header *header, char kind, uint64_t size)
{
	char number[NUMBER_BYTES + 1];
	memset(block, 0, TAR_BLOCK_BYTES);
	memcpy(block + NAME_AT, header->name, strnlen(header->name, NAME_BYTES));
	snprintf(number, sizeof number, "%07o", header->mode & 07777);
	memcpy(block + MODE_AT, number, ID_BYTES);
	memcpy(block + UID_AT, "0000000", ID_BYTES);
	memcpy(block + GID_AT, "0000000", ID_BYTES);
	snprintf(number, sizeof number, "%011llo", (unsigned long long)(size <= SIZE_FIELD_MAX ? size : 0));
	memcpy(block + SIZE_AT, number, NUMBER_BYTES);
	int64_t mtime_s = header->mtime_s < 0 || header->mtime_s > (int64_t)SIZE_FIELD_MAX ? 0 : header->mtime_s;
	snprintf(number, sizeof number, "%011llo", (unsigned long long)mtime_s);
	memcpy(block + MTIME_AT, number, NUMBER_BYTES);
	block[KIND_AT] = (uint8_t)kind;
	memcpy(block + TARGET_AT, header->target, strnlen(header->target, NAME_BYTES));
	memcpy(block + MAGIC_AT, "ustar\00000", 8);
	snprintf(number, sizeof number, "%06o", (unsigned int)checksum(block) & 0777777);
	memcpy(block + SUM_AT, number, 7);
	block[SUM_AT + 7] = ' ';
	return TAR_BLOCK_BYTES;
}

// The length of a record counts its own digits.
static size_t add_record(char *to, const char *key, const char *value)
{
	size_t body = strlen(key) + strlen(value) + 3; // blank, equals sign, line end
	size_t length = body + 1;
	char digits[24];
	while ((size_t)snprintf(digits, sizeof digits, "%zu", length) + body != length)
		length++;
	return (size_t)sprintf(to, "%zu %s=%s\n", length, key, value);
}

size_t tar_encode(const struct tar_header *header, uint8_t to[TAR_ENCODED_MAX_BYTES])
{
	char *records = (char *)to + TAR_BLOCK_BYTES;
	char number[24];
	size_t used = 0;
	if (strlen(header->name) > NAME_BYTES)
		used += add_record(records + used, "path", header->name);
	if (strlen(header->target) > NAME_BYTES)
		used += add_record(records + used, "linkpath", header->target);
	if (header->size_bytes > SIZE_FIELD_MAX) {
		snprintf(number, sizeof number, "%llu", (unsigned long long)header->size_bytes);
		used += add_record(records + used, "size", number);
	}
	size_t made = 0;
	if (used > 0) {
		size_t padded = (used + TAR_BLOCK_BYTES - 1) / TAR_BLOCK_BYTES * TAR_BLOCK_BYTES;
		memset(records + used, 0, padded - used);
		made = make_block(to, header, TAR_PAX, used) + padded;
	}
	return made + make_block(to + made, header, header->kind, header->size_bytes);
}

int tar_clean_name(char *name)
{
	char *to = name;
	for (char *part = name; *part != '\0';) {
		size_t part_bytes = strcspn(part, "/");
		char *next = part + part_bytes + (part[part_bytes] == '/');
		if (part_bytes == 2 && memcmp(part, "..", 2) == 0)
			return EXDEV;
		if (part_bytes > 0 && !(part_bytes == 1 && *part == '.')) {
			if (to != name)
				*to++ = '/';
			memmove(to, part, part_bytes);
			to += part_bytes;
		}
		part = next;
	}
	*to = '\0';
	return 0;
}
