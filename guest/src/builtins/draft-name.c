#include "builtins/draft-name.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static const char prefix[] = ".offshoot-";
enum { PREFIX_BYTES = sizeof prefix - 1, DIGITS = 32 };

int draft_name_choose(char name[DRAFT_NAME_BYTES])
{
	uint64_t parts[2];
	if (getrandom(parts, sizeof parts, 0) != (ssize_t)sizeof parts)
		return EIO;
	snprintf(name, DRAFT_NAME_BYTES, "%s%016llx%016llx", prefix, (unsigned long long)parts[0],
		 (unsigned long long)parts[1]);
	return 0;
}

bool draft_name_matches(const char *name)
{
	return strncmp(name, prefix, PREFIX_BYTES) == 0 && strspn(name + PREFIX_BYTES, "0123456789abcdef") == DIGITS &&
	       name[PREFIX_BYTES + DIGITS] == '\0';
}
