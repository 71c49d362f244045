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

static bool fits_together(const struct run_request *request)
{
	bool keeps = (request->options & RUN_KEEP) != 0;
	bool is_builtin = (request->options & RUN_BUILTIN) != 0;
	bool is_terminal = (request->options & RUN_TERMINAL) != 0;
	if ((request->options & ~(uint32_t)(RUN_TERMINAL | RUN_KEEP | RUN_BUILTIN | RUN_WAIT | RUN_OWNER)) != 0 ||
	    (!keeps && (request->options & RUN_WAIT) != 0) ||
	    (!is_builtin && (request->options & RUN_OWNER) != 0) ||
	    (is_builtin && (keeps || is_terminal)))
		return false;
	size_t id_bytes = strlen(request->kept_id);
	if (!keeps)
		return id_bytes == 0;
	return id_bytes > 0 && id_bytes <= KEPT_ID_MAX_BYTES && strlen(request->label) <= KEPT_LABEL_MAX_BYTES &&
	       request->log_bytes >= KEPT_LOG_MIN_BYTES && request->log_bytes <= KEPT_LOG_MAX_BYTES;
}

int run_request_parse(struct run_request *request, uint8_t *message, size_t message_bytes)
{
	enum { FIXED_BYTES = 14 };
	if (message_bytes < FIXED_BYTES)
		return EPROTO;
	request->options = read_u16(message);
	request->rows = read_u16(message + 2);
	request->columns = read_u16(message + 4);
	request->log_bytes = read_u32(message + 6);
	size_t argc = read_u16(message + 10);
	size_t envc = read_u16(message + 12);
	if (argc == 0)
		return EPROTO;
	if (argc > RUN_ARGUMENTS_MAX || envc > ENVIRONMENT_MAX_ENTRIES)
		return E2BIG;

	uint8_t *at = message + FIXED_BYTES;
	const uint8_t *end = message + message_bytes;
	if (!take_strings(&at, end, &request->user, 1) || !take_strings(&at, end, &request->cwd, 1) ||
	    !take_strings(&at, end, &request->program, 1) || !take_strings(&at, end, &request->kept_id, 1) ||
	    !take_strings(&at, end, &request->label, 1) || !take_strings(&at, end, request->argv, argc) || !take_strings(&at, end, request->env, envc) || at != end)
		return EPROTO;
	request->argv[argc] = NULL;
	request->env_count = envc;
	if (request->program[0] == '\0')
		request->program = request->argv[0];
	return fits_together(request) ? 0 : EINVAL;
}
