#include "builtins/id-names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

// Any user of a guest may have changed these files, so their size is limited. Names behind the limit are not found.
enum { FILE_MAX_BYTES = 1024 * 1024 };

struct named_id {
	uint32_t id;
	const char *name; // in the text of the file
};

struct database {
	const char *path;
	bool is_loaded;
	struct named_id *entries; // sorted by id, then by their order in the file
	size_t count;
};

static struct database users = {.path = "/etc/passwd"};
static struct database groups = {.path = "/etc/group"};

// Both files have lines `name:password:number:…`.
static bool parse_line(char *line, struct named_id *entry)
{
	char *name_end = strchr(line, ':');
	char *number = name_end == NULL ? NULL : strchr(name_end + 1, ':');
	if (number == NULL || name_end == line || name_end - line > ID_NAME_MAX_BYTES)
		return false;
	char *end;
	number++;
	if (number[0] < '0' || number[0] > '9')
		return false;
	errno = 0;
	unsigned long long id = strtoull(number, &end, 10);
	if (*end != ':' || errno != 0 || id >= UINT32_MAX)
		return false;
	*name_end = '\0';
	*entry = (struct named_id){.id = (uint32_t)id, .name = line};
	return true;
}

// Names of the same id stand in the same text: their addresses have the order of the file.
static int compare(const void *one, const void *other)
{
	const struct named_id *a = one, *b = other;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

static void load(struct database *database)
{
	database->is_loaded = true;
	char *text = malloc(FILE_MAX_BYTES);
	if (text == NULL || file_read(database->path, text, FILE_MAX_BYTES) <= 0) {
		free(text);
		return;
	}
	size_t lines = 1;
	for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	database->entries = calloc(lines, sizeof *database->entries);
	if (database->entries == NULL) {
		free(text);
		return;
	}
	for (char *line = text, *next; line != NULL && *line != '\0'; line = next) {
		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		if (parse_line(line, &database->entries[database->count]))
			database->count++;
	}
	qsort(database->entries, database->count, sizeof *database->entries, compare);
}

static const char *find(struct database *database, uint32_t id)
{
	if (!database->is_loaded)
		load(database);
	size_t low = 0, high = database->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (database->entries[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < database->count && database->entries[low].id == id ? database->entries[low].name : NULL;
}

const char *user_name(uid_t uid)
{
	return find(&users, uid);
}

const char *group_name(gid_t gid)
{
	return find(&groups, gid);
}
