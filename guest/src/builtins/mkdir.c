#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "builtins/builtins.h"
#include "builtins/place.h"

int builtin_mkdir(char *const *argv)
{
	struct place place;
	struct stat about;
	bool makes_parents = argv[2][0] == '1';
	int error = place_open(&place, argv[0], makes_parents);
	if (error != 0)
		return builtin_fail("mkdir", error);
	if (mkdirat(place.folder, place.name, 0777) != 0) {
		error = errno;
		bool is_there = error == EEXIST && makes_parents && fstatat(place.folder, place.name, &about, 0) == 0 &&
				S_ISDIR(about.st_mode);
		return is_there ? 0 : builtin_fail("mkdir", error);
	}
	// The umask must not change a requested mode.
	if (argv[1][0] != '\0' &&
	    fchmodat(place.folder, place.name, (mode_t)strtoul(argv[1], NULL, 8) & 07777, 0) != 0)
		return builtin_fail("chmod", errno);
	return 0;
}
