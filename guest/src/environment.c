#include "environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ACCOUNT_ENTRIES = 6 };

static char *sandbox_strings;
static size_t sandbox_strings_count;

bool environment_set(const char *strings, size_t strings_bytes, size_t count)
{
	if (count > ENVIRONMENT_MAX_ENTRIES)
		return false;
	char *copy = NULL;
	if (count > 0) {
		copy = malloc(strings_bytes);
		if (copy == NULL)
			return false;
		memcpy(copy, strings, strings_bytes);
	}
	free(sandbox_strings);
	sandbox_strings = copy;
	sandbox_strings_count = count;
	return true;
}

static bool same_key(const char *one, const char *other)
{
	size_t key_bytes = strcspn(one, "=");
	return strncmp(one, other, key_bytes) == 0 && (other[key_bytes] == '=' || other[key_bytes] == '\0');
}

static bool has_key(char *const *entries, size_t count, const char *entry)
{
	for (size_t i = 0; i < count; i++)
		if (same_key(entry, entries[i]))
			return true;
	return false;
}

char **environment_build(const struct account *account, char *const *own, size_t own_count)
{
	static char *entries[2 * ENVIRONMENT_MAX_ENTRIES + ACCOUNT_ENTRIES + 1];
	static char texts[ACCOUNT_ENTRIES][ACCOUNT_TEXT_MAX_BYTES + 16];
	size_t count = 0;

	for (size_t i = 0; i < own_count; i++)
		entries[count++] = own[i];

	char *at = sandbox_strings;
	for (size_t i = 0; i < sandbox_strings_count; i++, at += strlen(at) + 1)
		if (!has_key(entries, own_count, at))
			entries[count++] = at;

	snprintf(texts[0], sizeof texts[0], "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	snprintf(texts[1], sizeof texts[1], "HOME=%s", account->home);
	snprintf(texts[2], sizeof texts[2], "USER=%s", account->name);
	snprintf(texts[3], sizeof texts[3], "LOGNAME=%s", account->name);
	snprintf(texts[4], sizeof texts[4], "SHELL=%s", account->shell);
	snprintf(texts[5], sizeof texts[5], "LANG=C.UTF-8");
	size_t given = count;
	for (size_t i = 0; i < ACCOUNT_ENTRIES; i++)
		if (!has_key(entries, given, texts[i]))
			entries[count++] = texts[i];

	entries[count] = NULL;
	return entries;
}

const char *environment_get(char *const *environment, const char *key)
{
	size_t key_bytes = strlen(key);
	for (; *environment != NULL; environment++)
		if (strncmp(*environment, key, key_bytes) == 0 && (*environment)[key_bytes] == '=')
			return *environment + key_bytes + 1;
	return NULL;
}
