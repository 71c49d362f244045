// A file is written beside its name and put there when all of it has come: readers see the old one or the new one. It has
// no name until then where the file system can do that (O_TMPFILE), so a kill at any moment leaves nothing to remove;
// elsewhere a keeper in a session of its own, which the kill does not reach, removes it.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "builtins/answer.h"
#include "builtins/builtins.h"
#include "builtins/place.h"

struct draft {
	int fd;
	bool has_name;
	char name[48]; // under which it stands, or will stand for an instant
	bool replaces;
	struct stat old;
};

static int choose_name(struct draft *draft)
{
	uint64_t parts[2];
	if (getrandom(parts, sizeof parts, 0) != (ssize_t)sizeof parts)
		return EIO;
	snprintf(draft->name, sizeof draft->name, ".offshoot-%016llx%016llx", (unsigned long long)parts[0],
		 (unsigned long long)parts[1]);
	return 0;
}

// What stands at the place: only a file that this user may write is replaced.
static int look_at_old(const struct place *place, struct draft *draft)
{
	if (fstatat(place->folder, place->name, &draft->old, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : errno;
	if (S_ISDIR(draft->old.st_mode))
		return EISDIR;
	if (!S_ISREG(draft->old.st_mode))
		return EINVAL;
	draft->replaces = true;
	return faccessat(place->folder, place->name, W_OK, AT_EACCESS) != 0 ? errno : 0;
}

// Lives until our end of the pipe is closed; without our word that all went well, the name goes.
static int start_keeper(const struct place *place, const struct draft *draft)
{
	int word[2];
	if (pipe2(word, O_CLOEXEC) != 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		setsid();
		close(word[1]);
		close(STDIN_FILENO);
		close(STDOUT_FILENO);
		close(STDERR_FILENO);
		char well;
		if (read(word[0], &well, 1) == 0)
			unlinkat(place->folder, draft->name, 0);
		_exit(0);
	}
	close(word[0]);
	return pid < 0 ? -1 : word[1];
}

// `keeper` is where to say that all went well; -1: nobody needs to hear it.
static int open_draft(const struct place *place, struct draft *draft, int *keeper)
{
	*keeper = -1;
	int error = choose_name(draft);
	if (error != 0)
		return error;
	draft->fd = openat(place->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (draft->fd >= 0)
		return 0;
	if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
		return errno;
	// The keeper first: it may remove what is never made, nothing is made without it.
	*keeper = start_keeper(place, draft);
	if (*keeper < 0)
		return errno;
	draft->has_name = true;
	draft->fd = openat(place->folder, draft->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return draft->fd < 0 ? errno : 0;
}

static int copy_stdin(int fd, uint64_t *total)
{
	static uint8_t bytes[64 * 1024];
	for (;;) {
		ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? errno : 0;
		for (ssize_t done = 0; done < got;) {
			ssize_t put = write(fd, bytes + done, (size_t)(got - done));
			if (put < 0 && errno != EINTR)
				return errno;
			done += put > 0 ? put : 0;
		}
		*total += (uint64_t)got;
	}
}

// Owner and mode of what is replaced stay, but for a mode that was asked for. Who may not give files away owns the new
// one, without the bits that would lend his rights to others.
static int dress(const struct draft *draft, const char *mode)
{
	mode_t wanted = mode[0] != '\0' ? (mode_t)strtoul(mode, NULL, 8) & 07777 : 0644;
	if (draft->replaces) {
		if (mode[0] == '\0')
			wanted = draft->old.st_mode & 07777;
		if (fchown(draft->fd, draft->old.st_uid, draft->old.st_gid) != 0)
			wanted &= ~(mode_t)(S_ISUID | S_ISGID);
	}
	return fchmod(draft->fd, wanted) != 0 ? errno : 0;
}

static int put_in_place(const struct place *place, const struct draft *draft)
{
	char path[DESCRIPTOR_PATH_BYTES];
	descriptor_path(path, draft->fd);
	if (!draft->has_name && !draft->replaces &&
	    linkat(AT_FDCWD, path, place->folder, place->name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	if (!draft->has_name && linkat(AT_FDCWD, path, place->folder, draft->name, AT_SYMLINK_FOLLOW) != 0)
		return errno;
	if (renameat(place->folder, draft->name, place->folder, place->name) == 0)
		return 0;
	int error = errno;
	unlinkat(place->folder, draft->name, 0);
	return error;
}

// Out of the reach of a kill: between link and rename the draft has a name, which nobody would remove.
static int put_in_place_undisturbed(const struct place *place, const struct draft *draft)
{
	pid_t pid = fork();
	if (pid < 0)
		return errno;
	if (pid == 0) {
		setsid();
		_exit(put_in_place(place, draft));
	}
	int status;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

int builtin_write(char *const *argv)
{
	size_t path_bytes = strlen(argv[0]);
	struct place place;
	struct draft draft = {.fd = -1};
	int keeper;
	uint64_t total = 0;
	// Over the limit on a file's size a write fails as on a full disk, instead of ending us.
	signal(SIGXFSZ, SIG_IGN);
	int error = place_open(&place, argv[0], argv[2][0] == '1');
	if (error == 0)
		error = place_follow(&place);
	if (error != 0)
		return builtin_fail("folder", error);
	if (place_is_dot(&place) || argv[0][path_bytes - 1] == '/')
		return builtin_fail("open", EISDIR);
	error = look_at_old(&place, &draft);
	if (error == 0)
		error = open_draft(&place, &draft, &keeper);
	if (error != 0)
		return builtin_fail("open", error);
	error = copy_stdin(draft.fd, &total);
	if (error != 0)
		return builtin_fail("write", error);
	error = dress(&draft, argv[1]);
	if (error == 0)
		error = put_in_place_undisturbed(&place, &draft);
	if (error != 0)
		return builtin_fail("rename", error);
	if (keeper >= 0 && write(keeper, "1", 1) != 1)
		return builtin_fail("rename", EIO);
	answer_u64(total);
	return 0;
}
