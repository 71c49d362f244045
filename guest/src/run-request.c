#include "run-request.h"

#include <errno.h>
#include <string.h>

#include "bytes.h"

bool take_strings(uint8_t **at, const uint8_t *end, char **strings, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint8_t *nul = memchr(*at, 0, (size_t)(end - *at));
		if (nul == NULL)
			return false;
		strings[i] = (char *)*at;
		*at = nul + 1;
	}
	return true;
}

int run_request_parse(struct run_request *request, uint8_t *message, size_t message_bytes)
{
	if (message_bytes < 4)
		return EPROTO;
	size_t argc = read_u16(message);
	size_t envc = read_u16(message + 2);
	if (argc == 0)
		return EPROTO;
	if (argc > RUN_ARGUMENTS_MAX || envc > ENVIRONMENT_MAX_ENTRIES)
		return E2BIG;

	uint8_t *at = message + 4;
	const uint8_t *end = message + message_bytes;
	if (!take_strings(&at, end, &request->user, 1) || !take_strings(&at, end, &request->cwd, 1) ||
	    !take_strings(&at, end, request->argv, argc) || !take_strings(&at, end, request->env, envc) || at != end)
		return EPROTO;
	request->argv[argc] = NULL;
	request->env_count = envc;
	return 0;
}
