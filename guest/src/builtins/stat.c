#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "builtins/answer.h"
#include "builtins/builtins.h"
#include "builtins/place.h"

int builtin_stat(char *const *argv)
{
	struct place place;
	struct stat about;
	char target[PATH_MAX] = "";
	int error = place_open(&place, argv[0], false);
	if (error == 0 && fstatat(place.folder, place.name, &about, AT_SYMLINK_NOFOLLOW) != 0)
		error = errno;
	if (error != 0)
		return builtin_fail("stat", error);
	ssize_t bytes = S_ISLNK(about.st_mode) ? readlinkat(place.folder, place.name, target, sizeof target - 1) : 0;
	if (bytes < 0)
		return builtin_fail("readlink", errno);
	target[bytes] = '\0';
	answer_entry(&about, 0, place.name, target);
	return 0;
}
