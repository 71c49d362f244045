#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "builtins/builtins.h"

int builtin_sync(char *const *argv)
{
	if (strcmp(argv[0], "all") != 0)
		return builtin_fail("sync", EINVAL);
	sync();
	return 0;
}
