/* The rights of a jailed program, and those that a zygote keeps for its children. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail.h"

/* A child of a zygote enters namespaces (SYS_ADMIN, SYS_CHROOT), takes another user, and drops all rights. */
static const int kept[] = {CAP_SYS_ADMIN, CAP_SYS_CHROOT, CAP_SETUID, CAP_SETGID, CAP_SETPCAP};
#define KEPT_COUNT (sizeof kept / sizeof *kept)

static int is_kept(int capability)
{
	for (unsigned i = 0; i < KEPT_COUNT; i++)
		if (kept[i] == capability)
			return 1;
	return 0;
}

/* Raw system calls: the C library's functions would look for other threads. */
static const char *take_user(long uid)
{
	gid_t own = (gid_t)uid;

	if (syscall(SYS_setgroups, 0, NULL) != 0 || syscall(SYS_setresgid, own, own, own) != 0 || syscall(SYS_setresuid, uid, uid, uid) != 0)
		return "user";
	return NULL;
}

static const char *drop_bounds(int keeps)
{
	for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
		if (!(keeps && is_kept(capability)) && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0)
			return "bounding set";
	return NULL;
}

static const char *set_capabilities(int keeps)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	for (unsigned i = 0; keeps && i < KEPT_COUNT; i++) {
		struct __user_cap_data_struct *word = &data[CAP_TO_INDEX(kept[i])];

		word->permitted |= CAP_TO_MASK(kept[i]);
		word->effective = word->inheritable = word->permitted;
	}
	return syscall(SYS_capset, &header, data) == 0 ? NULL : "capabilities";
}

const char *drop_rights(long uid)
{
	const char *step;

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
		return "ambient capabilities";
	if ((step = drop_bounds(0)) != NULL || (step = take_user(uid)) != NULL || (step = set_capabilities(0)) != NULL)
		return step;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? NULL : "no new privileges";
}

const char *keep_rights(long uid)
{
	const char *step;

	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0)
		return "capabilities over a change of the user";
	if ((step = drop_bounds(1)) != NULL || (step = take_user(uid)) != NULL || (step = set_capabilities(1)) != NULL)
		return step;
	/* Ambient, so that the program has them although it is not root's. */
	for (unsigned i = 0; i < KEPT_COUNT; i++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, kept[i], 0, 0) != 0)
			return "ambient capabilities";
	return NULL;
}
