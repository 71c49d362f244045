#include "builtins/layer-entry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "builtins/layer-file.h"
#include "builtins/layer-source.h"
#include "builtins/remove.h"

enum { XATTR_NAME_BYTES = 256 };

static const char whiteout[] = ".wh.", opaque[] = ".wh..wh..opq", private_whiteout[] = ".wh..wh.";
static const char xattr_key[] = "SCHILY.xattr.";

static int open_in_root(const char *path, uint64_t flags)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	return (int)syscall(SYS_openat2, layer.root, path, &how, sizeof how);
}

// Opens a folder; makes it and its parents when they are missing. An empty path is the root.
static int open_folder(char *path)
{
	int folder = path[0] == '\0' ? fcntl(layer.root, F_DUPFD_CLOEXEC, 0) : open_in_root(path, O_PATH | O_DIRECTORY);
	if (folder >= 0 || errno != ENOENT)
		return folder;
	char *slash = strrchr(path, '/');
	const char *own = slash == NULL ? path : slash + 1;
	if (slash != NULL)
		*slash = '\0';
	int parent = slash == NULL ? fcntl(layer.root, F_DUPFD_CLOEXEC, 0) : open_folder(path);
	int error = parent < 0 ? errno : 0;
	if (error == 0 && mkdirat(parent, own, 0755) != 0 && errno != EEXIST)
		error = errno;
	if (parent >= 0)
		close(parent);
	if (slash != NULL)
		*slash = '/';
	if (error != 0) {
		errno = error;
		return -1;
	}
	return open_in_root(path, O_PATH | O_DIRECTORY);
}

void layer_forget_parent(void)
{
	if (layer.parent >= 0)
		close(layer.parent);
	layer.parent = -1;
}

// Opens the parent folder of a cleaned name as `layer.parent`. Returns 0 or an errno.
static int enter_parent(char *name, const char **last)
{
	char *slash = strrchr(name, '/');
	*last = slash == NULL ? name : slash + 1;
	if (slash != NULL)
		*slash = '\0';
	const char *folder = slash == NULL ? "" : name;
	int error = 0;
	if (layer.parent < 0 || strcmp(folder, layer.parent_name) != 0) {
		layer_forget_parent();
		strcpy(layer.parent_name, folder);
		layer.parent = open_folder(slash == NULL ? layer.parent_name : name);
		error = layer.parent < 0 ? errno : 0;
	}
	if (slash != NULL)
		*slash = '/';
	return error;
}

// Leaves out attributes that the file system refuses.
static int set_xattrs(int fd)
{
	struct tar_record record;
	for (size_t at = 0; tar_next_record(layer.pax, layer.pax_bytes, &at, &record) == 1;) {
		char name[XATTR_NAME_BYTES];
		size_t prefix_bytes = sizeof xattr_key - 1;
		if (record.key_bytes <= prefix_bytes || memcmp(record.key, xattr_key, prefix_bytes) != 0)
			continue;
		size_t name_bytes = record.key_bytes - prefix_bytes;
		if (name_bytes >= sizeof name)
			return ERANGE;
		memcpy(name, record.key + prefix_bytes, name_bytes);
		name[name_bytes] = '\0';
		if (fsetxattr(fd, name, record.value, record.value_bytes, 0) != 0 && errno != EOPNOTSUPP && errno != EPERM &&
		    errno != EINVAL)
			return errno;
	}
	return 0;
}

static bool has_xattrs(void)
{
	return layer.pax_bytes > 0 && memmem(layer.pax, layer.pax_bytes, xattr_key, sizeof xattr_key - 1) != NULL;
}

static int refuse_old_sparse_formats(const struct tar_record *record)
{
	return tar_is_key(record, "GNU.sparse.map") || tar_is_key(record, "GNU.sparse.numblocks") ? EPROTONOSUPPORT : 0;
}

// Reads the pax records about a sparse file. Returns 0 or an errno.
static int read_sparse(struct layer_hole_map *map, bool *is_sparse)
{
	struct tar_record record;
	int64_t number = 0, major = -1;
	*is_sparse = false;
	for (size_t at = 0; tar_next_record(layer.pax, layer.pax_bytes, &at, &record) == 1;) {
		int error = refuse_old_sparse_formats(&record);
		if (error != 0)
			return error;
		if (tar_is_key(&record, "GNU.sparse.major") && !tar_decimal(record.value, record.value_bytes, &major))
			return EBADMSG;
		if (tar_is_key(&record, "GNU.sparse.realsize") && tar_decimal(record.value, record.value_bytes, &number) &&
		    number >= 0)
			map->real_bytes = (uint64_t)number;
		if (tar_is_key(&record, "GNU.sparse.name") && record.value_bytes < TAR_TEXT_MAX_BYTES) {
			memcpy(layer.header.name, record.value, record.value_bytes);
			layer.header.name[record.value_bytes] = '\0';
		}
	}
	*is_sparse = map->is_in_content = major == 1;
	return major == -1 || major == 1 ? 0 : EPROTONOSUPPORT;
}

static int open_new_file(const char *name)
{
	mode_t mode = layer.header.mode & 0777;
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(layer.parent, name, flags, mode);
	if (fd >= 0 || errno != EEXIST)
		return fd;
	int error = remove_entry(layer.parent, name, layer.device);
	if (error != 0) {
		errno = error;
		return -1;
	}
	return openat(layer.parent, name, flags, mode);
}

static int make_file(const char *name, const struct layer_hole_map *map)
{
	const struct tar_header *header = &layer.header;
	int fd = open_new_file(name);
	if (fd < 0)
		return errno;
	int error = layer_fill_file(fd, header->size_bytes, map);
	// The order matters: writing content and changing the owner clear set-id bits and capabilities.
	if (error == 0 && (header->uid != 0 || header->gid != 0) && fchown(fd, header->uid, header->gid) != 0)
		error = errno;
	if (error == 0 && (header->mode & 07000) != 0 && fchmod(fd, header->mode) != 0)
		error = errno;
	if (error == 0 && has_xattrs())
		error = set_xattrs(fd);
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = header->mtime_s}};
	if (error == 0)
		futimens(fd, times);
	close(fd);
	layer.bytes += header->size_bytes;
	return error != 0 ? error : source_skip(layer_padding());
}

static int set_folder_xattrs(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno;
	int error = set_xattrs(fd);
	close(fd);
	return error;
}

static int set_folder_metadata(int folder, const char *name, bool is_new)
{
	const struct tar_header *header = &layer.header;
	bool has_owner = header->uid != 0 || header->gid != 0 || !is_new;
	if (has_owner && fchownat(folder, name, header->uid, header->gid, AT_SYMLINK_NOFOLLOW) != 0)
		return errno;
	if ((!is_new || (header->mode & 07000) != 0) && fchmodat(folder, name, header->mode, 0) != 0)
		return errno;
	return has_xattrs() ? set_folder_xattrs(folder, name) : 0;
}

// An existing folder keeps its content. Anything else is replaced.
static int make_folder(const char *name)
{
	struct stat about;
	mode_t mode = layer.header.mode & 0777;
	bool is_new = mkdirat(layer.parent, name, mode) == 0;
	if (!is_new && errno != EEXIST)
		return errno;
	if (!is_new && fstatat(layer.parent, name, &about, AT_SYMLINK_NOFOLLOW) != 0)
		return errno;
	if (!is_new && !S_ISDIR(about.st_mode)) {
		int error = remove_entry(layer.parent, name, layer.device);
		if (error != 0 || mkdirat(layer.parent, name, mode) != 0)
			return error != 0 ? error : errno;
		is_new = true;
	}
	return set_folder_metadata(layer.parent, name, is_new);
}

static int make_link(const char *name)
{
	const struct tar_header *header = &layer.header;
	int error = remove_entry(layer.parent, name, layer.device);
	if (error != 0 || symlinkat(header->target, layer.parent, name) != 0)
		return error != 0 ? error : errno;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = header->mtime_s}};
	utimensat(layer.parent, name, times, AT_SYMLINK_NOFOLLOW);
	bool has_owner = header->uid != 0 || header->gid != 0;
	return has_owner && fchownat(layer.parent, name, header->uid, header->gid, AT_SYMLINK_NOFOLLOW) != 0 ? errno : 0;
}

static int make_hard_link(const char *name)
{
	char *target = layer.header.target;
	int error = tar_clean_name(target);
	if (error != 0)
		return error;
	char *slash = strrchr(target, '/');
	if (slash != NULL)
		*slash = '\0';
	int folder = slash == NULL ? fcntl(layer.root, F_DUPFD_CLOEXEC, 0) : open_in_root(target, O_PATH | O_DIRECTORY);
	if (folder < 0)
		return errno;
	const char *last = slash == NULL ? target : slash + 1;
	struct stat to, here;
	// A hard link to itself: removing the entry would remove its only name.
	bool is_same = fstatat(folder, last, &to, AT_SYMLINK_NOFOLLOW) == 0 &&
		       fstatat(layer.parent, name, &here, AT_SYMLINK_NOFOLLOW) == 0 && to.st_ino == here.st_ino;
	if (!is_same) {
		error = remove_entry(layer.parent, name, layer.device);
		if (error == 0 && linkat(folder, last, layer.parent, name, 0) != 0)
			error = errno;
	}
	close(folder);
	return error;
}

static int make_fifo(const char *name)
{
	int error = remove_entry(layer.parent, name, layer.device);
	if (error != 0 || mkfifoat(layer.parent, name, layer.header.mode & 0777) != 0)
		return error != 0 ? error : errno;
	return fchownat(layer.parent, name, layer.header.uid, layer.header.gid, AT_SYMLINK_NOFOLLOW) != 0 ? errno : 0;
}

static int empty_parent(void)
{
	int fd = openat(layer.parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = fd < 0 ? NULL : fdopendir(fd);
	if (listing == NULL)
		return errno;
	int error = remove_content(listing, layer.device);
	closedir(listing);
	return error;
}

// Removes entries of lower layers that this layer deletes (OCI image specification, "Whiteouts").
static int apply_whiteout(const char *name)
{
	if (strcmp(name, opaque) == 0)
		return empty_parent();
	if (strncmp(name, private_whiteout, sizeof private_whiteout - 1) == 0)
		return 0;
	const char *gone = name + sizeof whiteout - 1;
	bool is_entry = gone[0] != '\0' && strcmp(gone, ".") != 0 && strcmp(gone, "..") != 0;
	return is_entry ? remove_entry(layer.parent, gone, layer.device) : EBADMSG;
}

static int leave_out(void)
{
	layer.left_out++;
	return 0;
}

static int make_other(const char *name)
{
	switch (layer.header.kind) {
	case TAR_FOLDER:
		return make_folder(name);
	case TAR_LINK:
		return make_link(name);
	case TAR_HARD_LINK:
		return make_hard_link(name);
	case TAR_FIFO:
		return make_fifo(name);
	default:
		return leave_out();
	}
}

static int make_named(const char *name, const struct layer_hole_map *map)
{
	bool is_file = layer.header.kind == TAR_FILE || layer.header.kind == TAR_GNU_SPARSE;
	if (layer.has_whiteouts && strncmp(name, whiteout, sizeof whiteout - 1) == 0) {
		int error = apply_whiteout(name);
		layer_forget_parent();
		return error != 0 ? error : source_skip(layer.header.size_bytes + layer_padding());
	}
	if (is_file)
		return make_file(name, map);
	int error = make_other(name);
	// The entry may have replaced `layer.parent` or a folder above it.
	if (layer.header.kind != TAR_HARD_LINK)
		layer_forget_parent();
	return error != 0 ? error : source_skip(layer.header.size_bytes + layer_padding());
}

int layer_make_entry(void)
{
	struct layer_hole_map map = {.gnu_block = layer.header.kind == TAR_GNU_SPARSE ? layer.block : NULL};
	bool is_sparse;
	int error = read_sparse(&map, &is_sparse);
	if (error == 0)
		error = tar_clean_name(layer.header.name);
	if (error != 0)
		return error;
	layer.entries++;
	if (layer.header.name[0] == '\0') {
		if (layer.header.kind == TAR_FOLDER)
			error = set_folder_metadata(layer.root, ".", false);
		return error != 0 ? error : source_skip(layer.header.size_bytes + layer_padding());
	}
	const char *last;
	error = enter_parent(layer.header.name, &last);
	return error != 0 ? error : make_named(last, is_sparse || map.gnu_block != NULL ? &map : NULL);
}
