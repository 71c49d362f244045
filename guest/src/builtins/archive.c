#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "builtins/answer.h"
#include "builtins/builtins.h"
#include "builtins/tar-header.h"

// The header of the current entry. Its name is the path below the archived folder.
static struct tar_header header;
static dev_t device;

static int archive_folder(int folder);

static void put_header(void)
{
	static uint8_t encoded[TAR_ENCODED_MAX_BYTES];
	answer_bytes(encoded, tar_encode(&header, encoded));
}

// Writes exactly the number of bytes in the entry's header. If the file was truncated meanwhile, writes zeros for the
// missing bytes; if it has grown, leaves out the new bytes.
static int put_content(int fd)
{
	static uint8_t bytes[64 * 1024];
	uint64_t left = header.size_bytes;
	while (left > 0) {
		size_t most = left < sizeof bytes ? (size_t)left : sizeof bytes;
		ssize_t got = read(fd, bytes, most);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno;
		if (got == 0) {
			memset(bytes, 0, most);
			got = (ssize_t)most;
		}
		answer_bytes(bytes, (size_t)got);
		left -= (uint64_t)got;
	}
	memset(bytes, 0, TAR_BLOCK_BYTES);
	answer_bytes(bytes, (size_t)(-header.size_bytes % TAR_BLOCK_BYTES));
	return 0;
}

static int archive_file(int folder, const char *name)
{
	struct stat about;
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	int error = 0;
	if (fstat(fd, &about) != 0) {
		error = errno;
	} else if (S_ISREG(about.st_mode)) {
		header.kind = TAR_FILE;
		header.size_bytes = (uint64_t)about.st_size;
		put_header();
		error = put_content(fd);
	}
	close(fd);
	return error;
}

static int archive_link(int folder, const char *name)
{
	ssize_t bytes = readlinkat(folder, name, header.target, sizeof header.target - 1);
	if (bytes < 0)
		return errno;
	header.target[bytes] = '\0';
	header.kind = TAR_LINK;
	put_header();
	header.target[0] = '\0';
	return 0;
}

static int archive_subfolder(int parent, const char *name)
{
	struct stat about;
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno;
	if (fstat(fd, &about) != 0)
		return errno;
	header.kind = TAR_FOLDER;
	put_header();
	// Archives a mount point without its content: /proc is endless.
	if (about.st_dev == device)
		return archive_folder(fd);
	close(fd);
	return 0;
}

static int archive_entry(int folder, const char *name)
{
	struct stat about;
	size_t parent_bytes = strlen(header.name);
	if (fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : errno;
	size_t name_bytes = strlen(name);
	if (parent_bytes + name_bytes + 2 > sizeof header.name)
		return ENAMETOOLONG;
	snprintf(header.name + parent_bytes, sizeof header.name - parent_bytes, "%s%s", name,
		 S_ISDIR(about.st_mode) ? "/" : "");
	header.mode = about.st_mode & 07777;
	header.mtime_s = about.st_mtim.tv_sec;
	header.size_bytes = 0;
	int error = 0;
	if (S_ISREG(about.st_mode))
		error = archive_file(folder, name);
	else if (S_ISLNK(about.st_mode))
		error = archive_link(folder, name);
	else if (S_ISDIR(about.st_mode))
		error = archive_subfolder(folder, name);
	// Leaves out sockets, FIFOs and devices. A file that was removed meanwhile is not an error.
	header.name[parent_bytes] = '\0';
	return error == ENOENT ? 0 : error;
}

// Closes `folder`.
static int archive_folder(int folder)
{
	DIR *listing = fdopendir(folder);
	if (listing == NULL)
		return errno;
	int error = 0;
	struct dirent *entry;
	while (error == 0 && (errno = 0, (entry = readdir(listing)) != NULL))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			error = archive_entry(folder, entry->d_name);
	if (error == 0 && entry == NULL)
		error = errno;
	closedir(listing);
	return error;
}

int builtin_archive(char *const *argv)
{
	static const uint8_t end[2 * TAR_BLOCK_BYTES];
	struct stat about;
	int folder = open(argv[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0 || fstat(folder, &about) != 0)
		return builtin_fail("open", errno);
	device = about.st_dev;
	int error = archive_folder(folder);
	if (error != 0)
		return builtin_fail("archive", error);
	answer_bytes(end, sizeof end);
	return 0;
}
