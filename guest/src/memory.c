#include "memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

// Both lines are among the first three of the file.
enum { MEMINFO_MAX_BYTES = 512 };

// `field` is the text in front of the number. It begins with a newline unless its line is the first.
static bool find_bytes(const char *text, const char *field, uint64_t *bytes)
{
	const char *at = strstr(text, field);
	if (at == NULL)
		return false;
	char *end;
	unsigned long long kib = strtoull(at + strlen(field), &end, 10);
	*bytes = kib * 1024;
	return strncmp(end, " kB", 3) == 0;
}

int memory_read(uint64_t *total, uint64_t *available)
{
	char text[MEMINFO_MAX_BYTES];
	if (file_read("/proc/meminfo", text, sizeof text) < 0)
		return errno;
	if (!find_bytes(text, "MemTotal:", total) || !find_bytes(text, "\nMemAvailable:", available))
		return EPROTO;
	return 0;
}
