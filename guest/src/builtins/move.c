#include <errno.h>
#include <stdio.h>

#include "builtins/builtins.h"
#include "builtins/place.h"

// One rename. Fails with EXDEV between file systems: copying would not be atomic.
int builtin_move(char *const *argv)
{
	struct place from, to;
	int error = place_open(&from, argv[0], false);
	if (error == 0)
		error = place_open(&to, argv[1], argv[3][0] == '1');
	if (error == 0 && (place_is_dot(&from) || place_is_dot(&to)))
		error = EBUSY;
	unsigned int flags = argv[2][0] == '1' ? 0 : RENAME_NOREPLACE;
	if (error == 0 && renameat2(from.folder, from.name, to.folder, to.name, flags) != 0)
		error = errno;
	return error == 0 ? 0 : builtin_fail("move", error);
}
