// Unpacks one layer of an image, a tar archive on a block device, onto an ext4 file system on another block device. It
// runs in a machine that was started for this build only. The archive is untrusted: names with ".." are refused, and
// links resolve inside the image (RESOLVE_IN_ROOT), so no entry reaches a file of this machine. It keeps owners, modes,
// times, extended attributes, holes and hard links. It leaves out device nodes, because every machine has its own /dev.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "builtins/answer.h"
#include "builtins/builtins.h"
#include "builtins/layer-entry.h"
#include "builtins/layer-source.h"
#include "builtins/tar-header.h"

enum { REPORT_EVERY_BYTES = 8 * 1024 * 1024 };
enum answer { ANSWER_PROGRESS = 0, ANSWER_END = 1 };

static const char mount_point[] = "/run/offshoot-layer";
struct layer layer;

// A pax or GNU header that describes the next entry. Its size is limited, because it is held in memory.
static int take_extra(void)
{
	static uint8_t text[TAR_TEXT_MAX_BYTES + TAR_BLOCK_BYTES];
	const struct tar_header *header = &layer.header;
	uint64_t count = header->size_bytes;
	bool is_pax = header->kind == TAR_PAX || header->kind == TAR_PAX_GLOBAL;
	if (count > (is_pax ? sizeof layer.pax : TAR_TEXT_MAX_BYTES))
		return E2BIG;
	uint8_t *content = is_pax ? layer.pax : text;
	if (source_take(content, (size_t)count) != 0 || source_skip(layer_padding()) != 0)
		return EBADMSG;
	if (is_pax)
		layer.pax_bytes = header->kind == TAR_PAX ? (size_t)count : 0;
	return tar_take_extra(header->kind, content, (size_t)count, &layer.extra, &layer.global);
}

static int take_block(void)
{
	if (!tar_parse(layer.block, &layer.header))
		return EBADMSG;
	if (tar_is_extra(layer.header.kind))
		return take_extra();
	tar_apply_extra(&layer.header, &layer.extra, &layer.global);
	// A larger size would overflow when its padding is added.
	int error = layer.header.size_bytes > INT64_MAX / 2 ? EBADMSG : layer_make_entry();
	layer.pax_bytes = 0;
	return error;
}

static void report(enum answer what)
{
	layer.reported_bytes = source_taken();
	answer_u64(what);
	answer_u64(what == ANSWER_PROGRESS ? layer.reported_bytes : layer.entries);
	answer_u64(layer.bytes);
	answer_u64(layer.left_out);
	answer_flush();
}

static int unpack(void)
{
	for (;;) {
		if (source_take(layer.block, sizeof layer.block) != 0)
			return EBADMSG; // truncated or empty: an archive ends with blocks of zeros
		if (tar_is_end(layer.block))
			return 0;
		int error = take_block();
		if (error != 0)
			return error;
		if (source_taken() - layer.reported_bytes >= REPORT_EVERY_BYTES)
			report(ANSWER_PROGRESS);
	}
}

// Mounts in a mount namespace of this process: however the process ends, nothing stays mounted.
static int mount_disk(const char *disk)
{
	struct stat about;
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    (mkdir(mount_point, 0700) != 0 && errno != EEXIST))
		return errno;
	// A build that was interrupted is discarded, so the disk needs no barriers, and only one commit at the end.
	if (mount(disk, mount_point, "ext4", MS_NOATIME | MS_NODEV | MS_NOSUID, "barrier=0,commit=900") != 0)
		return errno;
	layer.root = open(mount_point, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (layer.root < 0 || fstat(layer.root, &about) != 0)
		return errno;
	layer.device = about.st_dev;
	return 0;
}

static int unmount_disk(void)
{
	layer_forget_parent();
	close(layer.root);
	return umount2(mount_point, 0) != 0 ? errno : 0;
}

int builtin_layer(char *const *argv)
{
	layer.parent = -1;
	layer.has_whiteouts = argv[4][0] == '1';
	umask(0);
	int error = mount_disk(argv[3]);
	if (error == 0)
		error = source_open(argv[0], strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10));
	if (error != 0)
		return builtin_fail("disk", error);
	error = unpack();
	if (error != 0)
		return builtin_fail(layer.header.name[0] == '\0' ? "archive" : layer.header.name, error);
	error = unmount_disk();
	if (error != 0)
		return builtin_fail("disk", error);
	report(ANSWER_END);
	return 0;
}
