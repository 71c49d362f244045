// The archive is untrusted, and nothing may be made outside the folder. Names are cleaned, their parent folders are
// opened with RESOLVE_BENEATH, and the last name is never followed. Symbolic links are made as they are, wherever they
// lead.
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "builtins/answer.h"
#include "builtins/builtins.h"
#include "builtins/draft.h"
#include "builtins/resolved-path.h"
#include "builtins/tar-header.h"

enum { EXTRA_MAX_BYTES = 256 * 1024, FOLDERS_MAX = 1000000 };

// A folder that its owner may not write. The builtin sets that mode at the end, because it must create files in the
// folder first.
struct closed_folder {
	struct closed_folder *next;
	mode_t mode;
	char name[];
};

struct unpacking {
	int root;
	uint64_t entries, bytes;
	size_t closed_count;
	struct closed_folder *closed;
	struct tar_header header;
	struct tar_extra extra, global;
};

// Of a file, or a part of it.
static uint8_t piece[64 * 1024];

// Returns 1; 0 when stdin ended before the first byte; -1 when it ended later.
static int read_exactly(uint8_t *to, size_t count)
{
	size_t used = 0;
	while (used < count) {
		ssize_t got = read(STDIN_FILENO, to + used, count - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return used == 0 && got == 0 ? 0 : -1;
		used += (size_t)got;
	}
	return 1;
}

static int open_beneath(int root, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

// Opens the parent folder of a cleaned name, and makes it when it is missing.
static int open_parent(const struct unpacking *unpacking, char *name, const char **last)
{
	char *slash = strrchr(name, '/');
	*last = slash == NULL ? name : slash + 1;
	if (slash == NULL)
		return fcntl(unpacking->root, F_DUPFD_CLOEXEC, 0);
	*slash = '\0';
	int folder = open_beneath(unpacking->root, name, O_PATH | O_DIRECTORY);
	if (folder < 0 && errno == ENOENT) {
		const char *own;
		int parent = open_parent(unpacking, name, &own);
		if (parent >= 0 && mkdirat(parent, own, 0777) != 0 && errno != EEXIST) {
			close(parent);
			parent = -1;
		}
		if (parent >= 0) {
			close(parent);
			folder = open_beneath(unpacking->root, name, O_PATH | O_DIRECTORY);
		}
	}
	*slash = '/';
	return folder;
}

static int skip(uint64_t count)
{
	static uint8_t nowhere[64 * 1024];
	while (count > 0) {
		size_t part = count < sizeof nowhere ? (size_t)count : sizeof nowhere;
		if (read_exactly(nowhere, part) != 1)
			return EBADMSG;
		count -= part;
	}
	return 0;
}

static uint64_t padded(uint64_t bytes)
{
	return bytes + (-bytes % TAR_BLOCK_BYTES);
}

static int write_all(int fd, const uint8_t *bytes, size_t count)
{
	while (count > 0) {
		ssize_t put = write(fd, bytes, count);
		if (put < 0 && errno != EINTR)
			return errno;
		bytes += put > 0 ? put : 0;
		count -= put > 0 ? (size_t)put : 0;
	}
	return 0;
}

static int fill_file(int fd, uint64_t count)
{
	while (count > 0) {
		size_t part = count < sizeof piece ? (size_t)count : sizeof piece;
		if (read_exactly(piece, part) != 1)
			return EBADMSG;
		int error = write_all(fd, piece, part);
		if (error != 0)
			return error;
		count -= part;
	}
	return 0;
}

static int finish_file(int fd, const struct tar_header *header)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = header->mtime_s}};
	if (fchmod(fd, header->mode & 0777) != 0)
		return errno;
	futimens(fd, times);
	return 0;
}

// Makes a file when its whole content has arrived and nothing has its name: that needs no draft, which costs time.
// Returns EEXIST if something has the name.
static int make_new_file(const struct tar_header *header, int folder, const char *name)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	int error = write_all(fd, piece, (size_t)header->size_bytes);
	if (error == 0)
		error = finish_file(fd, header);
	if (error != 0)
		unlinkat(folder, name, 0);
	close(fd);
	return error == EEXIST ? EIO : error;
}

// Replaces a file or a link, which must not be written through.
static int make_draft(const struct tar_header *header, const struct draft_place *place, const char *name, bool is_small)
{
	struct draft draft;
	int error = draft_open(&draft, place, !is_small);
	if (error == 0)
		error = is_small ? write_all(draft.fd, piece, (size_t)header->size_bytes)
				 : fill_file(draft.fd, header->size_bytes);
	if (error == 0)
		error = finish_file(draft.fd, header);
	if (error == 0)
		error = draft_put_in_place(&draft, place, name);
	draft_close(&draft, place);
	return error;
}

// An archive that breaks off leaves the old file as it was.
static int make_file(struct unpacking *unpacking, int folder, const char *name)
{
	struct tar_header *header = &unpacking->header;
	bool is_small = header->size_bytes <= sizeof piece;
	if (is_small && header->size_bytes > 0 && read_exactly(piece, (size_t)header->size_bytes) != 1)
		return EBADMSG;
	int error = is_small ? make_new_file(header, folder, name) : EEXIST;
	if (error == EEXIST) {
		char path[TAR_TEXT_MAX_BYTES] = ".";
		if (name > header->name)
			snprintf(path, sizeof path, "%.*s", (int)(name - header->name), header->name);
		const struct draft_place place = {.root = unpacking->root, .path = path, .folder = folder};
		error = make_draft(header, &place, name, is_small);
	}
	unpacking->bytes += header->size_bytes;
	return error != 0 ? error : skip(padded(header->size_bytes) - header->size_bytes);
}

static int remember_closed(struct unpacking *unpacking)
{
	size_t name_bytes = strlen(unpacking->header.name) + 1;
	struct closed_folder *closed = malloc(sizeof *closed + name_bytes);
	if (closed == NULL || unpacking->closed_count++ == FOLDERS_MAX)
		return ENOMEM;
	closed->next = unpacking->closed;
	closed->mode = unpacking->header.mode & 0777;
	memcpy(closed->name, unpacking->header.name, name_bytes);
	unpacking->closed = closed;
	return 0;
}

static int make_folder(struct unpacking *unpacking, int folder, const char *name)
{
	mode_t mode = unpacking->header.mode & 0777;
	if (mkdirat(folder, name, 0700) == 0) {
		if (fchmodat(folder, name, mode | 0700, 0) != 0)
			return errno;
		return (mode & 0700) == 0700 ? 0 : remember_closed(unpacking);
	}
	struct stat about;
	int error = errno;
	if (error != EEXIST || fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) != 0)
		return error;
	// A link to a folder is kept: open_beneath refuses entries below it when it leads outside.
	return S_ISDIR(about.st_mode) || S_ISLNK(about.st_mode) ? 0 : ENOTDIR;
}

static int make_link(struct unpacking *unpacking, int folder, const char *name)
{
	if (unlinkat(folder, name, 0) != 0 && errno != ENOENT)
		return errno;
	return symlinkat(unpacking->header.target, folder, name) != 0 ? errno : 0;
}

static int make_hard_link(struct unpacking *unpacking, int folder, const char *name)
{
	char *target = unpacking->header.target;
	const char *last;
	int error = tar_clean_name(target);
	if (error != 0)
		return error;
	int parent = open_parent(unpacking, target, &last);
	if (parent < 0)
		return errno;
	struct stat to, here;
	bool exists = fstatat(folder, name, &here, AT_SYMLINK_NOFOLLOW) == 0;
	// A hard link to a symbolic link could lead outside.
	if (fstatat(parent, last, &to, AT_SYMLINK_NOFOLLOW) != 0)
		error = errno;
	else if (!S_ISREG(to.st_mode))
		error = EINVAL;
	// Both are the same file: to remove the entry first could remove the file's only name.
	else if (exists && to.st_dev == here.st_dev && to.st_ino == here.st_ino)
		error = 0;
	else if ((unlinkat(folder, name, 0) != 0 && errno != ENOENT) || linkat(parent, last, folder, name, 0) != 0)
		error = errno;
	close(parent);
	return error;
}

static int make_entry(struct unpacking *unpacking)
{
	struct tar_header *header = &unpacking->header;
	const char *last;
	int error = tar_clean_name(header->name);
	if (error != 0)
		return error;
	if (header->name[0] == '\0')
		return skip(padded(header->size_bytes));
	int folder = open_parent(unpacking, header->name, &last);
	if (folder < 0)
		return errno;
	unpacking->entries++;
	if (header->kind == TAR_FILE)
		error = make_file(unpacking, folder, last);
	else if (header->kind == TAR_FOLDER)
		error = make_folder(unpacking, folder, last);
	else if (header->kind == TAR_LINK)
		error = make_link(unpacking, folder, last);
	else if (header->kind == TAR_HARD_LINK)
		error = make_hard_link(unpacking, folder, last);
	else
		unpacking->entries--; // a device, a FIFO or an unknown kind: left out
	close(folder);
	if (error == 0 && header->kind != TAR_FILE)
		error = skip(padded(header->size_bytes));
	return error;
}

// A pax or GNU header that describes the next entry. Its size is limited, because it is held in memory.
static int take_extra(struct unpacking *unpacking)
{
	static uint8_t content[EXTRA_MAX_BYTES];
	const struct tar_header *header = &unpacking->header;
	uint64_t count = header->size_bytes;
	if (count > sizeof content)
		return E2BIG;
	if (read_exactly(content, (size_t)padded(count)) == -1)
		return EBADMSG;
	return tar_take_extra(header->kind, content, (size_t)count, &unpacking->extra, &unpacking->global);
}

static int take_block(struct unpacking *unpacking, const uint8_t *block)
{
	if (!tar_parse(block, &unpacking->header))
		return EBADMSG;
	if (tar_is_extra(unpacking->header.kind))
		return take_extra(unpacking);
	tar_apply_extra(&unpacking->header, &unpacking->extra, &unpacking->global);
	// A larger size would overflow when its padding is added.
	return unpacking->header.size_bytes > INT64_MAX ? EBADMSG : make_entry(unpacking);
}

static int unpack(struct unpacking *unpacking)
{
	uint8_t block[TAR_BLOCK_BYTES];
	for (;;) {
		int got = read_exactly(block, sizeof block);
		if (got != 1)
			return EBADMSG; // truncated or empty: an archive ends with blocks of zeros
		if (tar_is_end(block))
			break;
		int error = take_block(unpacking, block);
		if (error != 0)
			return error;
	}
	while (read_exactly(block, 1) == 1) {
	}
	return 0;
}

static int close_folders(const struct unpacking *unpacking)
{
	for (const struct closed_folder *closed = unpacking->closed; closed != NULL; closed = closed->next) {
		char path[DESCRIPTOR_PATH_BYTES];
		int fd = open_beneath(unpacking->root, closed->name, O_PATH | O_DIRECTORY);
		if (fd < 0 || chmod(descriptor_path(path, fd), closed->mode) != 0)
			return errno;
		close(fd);
	}
	return 0;
}

int builtin_unpack(char *const *argv)
{
	static struct unpacking unpacking;
	unpacking.root = open(argv[0], O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (unpacking.root < 0)
		return builtin_fail("open", errno);
	int error = unpack(&unpacking);
	if (error == 0)
		error = close_folders(&unpacking);
	if (error != 0)
		return builtin_fail(unpacking.header.name[0] == '\0' ? "archive" : unpacking.header.name, error);
	answer_u64(unpacking.entries);
	answer_u64(unpacking.bytes);
	return 0;
}
