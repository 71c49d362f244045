#include "refresh-request.h"

#include <string.h>

#include "bytes.h"

enum {
	// u64 time, u16 options, u16 host name bytes, u16 entropy bytes, u16 variables, u16 fields bytes.
	FIXED_BYTES = 18,
	FIELD_HEADER_BYTES = 2,
	// Address, prefix length, gateway, MTU.
	ADDRESS_FIELD_BYTES = IPV4_BYTES + 1 + IPV4_BYTES + 2,
	// Every host must accept datagrams of this size (RFC 791).
	MTU_MIN_BYTES = 576,
};

static bool is_hostname(const char *text)
{
	return text[0] != '\0' && text[0] != '-' && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(text);
}

static bool is_machine_id(const char *text)
{
	return strlen(text) == MACHINE_ID_BYTES && strspn(text, "0123456789abcdef") == MACHINE_ID_BYTES;
}

static void take_text(char *to, const uint8_t **at, size_t count)
{
	memcpy(to, *at, count);
	to[count] = '\0';
	*at += count;
}

static bool take_mac(struct refresh_request *request, const uint8_t *value, size_t value_bytes)
{
	if (value_bytes != MAC_BYTES || request->has_mac)
		return false;
	memcpy(request->mac, value, MAC_BYTES);
	request->has_mac = true;
	return true;
}

static bool take_address(struct refresh_request *request, const uint8_t *value, size_t value_bytes)
{
	struct interface_address *to = &request->address;
	if (value_bytes != ADDRESS_FIELD_BYTES || request->has_address)
		return false;
	memcpy(to->address, value, IPV4_BYTES);
	to->prefix_bits = value[IPV4_BYTES];
	memcpy(to->gateway, value + IPV4_BYTES + 1, IPV4_BYTES);
	to->mtu = read_u16(value + IPV4_BYTES + 1 + IPV4_BYTES);
	request->has_address = true;
	return to->prefix_bits >= 1 && to->prefix_bits <= 30 && to->mtu >= MTU_MIN_BYTES;
}

static bool take_volumes(struct refresh_request *request, const uint8_t *value, size_t value_bytes)
{
	if (value_bytes != 1 || request->has_volumes)
		return false;
	request->volumes = value[0];
	request->has_volumes = true;
	return true;
}

static bool take_field(struct refresh_request *request, uint8_t field, const uint8_t *value, size_t value_bytes)
{
	switch (field) {
	case REFRESH_MAC:
		return take_mac(request, value, value_bytes);
	case REFRESH_ADDRESS:
		return take_address(request, value, value_bytes);
	case REFRESH_VOLUMES:
		return take_volumes(request, value, value_bytes);
	default:
		return false;
	}
}

static bool take_fields(struct refresh_request *request, const uint8_t *at, size_t count)
{
	while (count >= FIELD_HEADER_BYTES && count - FIELD_HEADER_BYTES >= at[1]) {
		size_t used = FIELD_HEADER_BYTES + at[1];
		if (!take_field(request, at[0], at + FIELD_HEADER_BYTES, at[1]))
			return false;
		at += used;
		count -= used;
	}
	return count == 0;
}

static bool take_env(struct refresh_request *request, const uint8_t *at, size_t count)
{
	request->env = (const char *)at;
	request->env_bytes = count;
	size_t nuls = 0;
	for (size_t i = 0; i < count; i++)
		nuls += at[i] == 0;
	bool is_whole = count == 0 || at[count - 1] == 0;
	return is_whole && nuls == request->env_count && (count == 0 || !request->keeps_env);
}

bool refresh_request_parse(struct refresh_request *request, const uint8_t *message, size_t message_bytes)
{
	memset(request, 0, sizeof *request);
	if (message_bytes < FIXED_BYTES)
		return false;
	uint16_t options = read_u16(message + 8);
	size_t hostname_bytes = read_u16(message + 10);
	size_t fields_bytes = read_u16(message + 16);
	request->time_ns = read_u64(message);
	request->keeps_env = options == REFRESH_KEEP_ENV;
	request->entropy_bytes = read_u16(message + 12);
	request->env_count = read_u16(message + 14);
	size_t known_bytes = FIXED_BYTES + hostname_bytes + MACHINE_ID_BYTES + request->entropy_bytes + fields_bytes;
	if ((options & ~REFRESH_KEEP_ENV) != 0 || hostname_bytes > HOSTNAME_MAX_BYTES ||
	    request->entropy_bytes < ENTROPY_MIN_BYTES || request->entropy_bytes > ENTROPY_MAX_BYTES ||
	    request->env_count > ENVIRONMENT_MAX_ENTRIES || message_bytes < known_bytes)
		return false;

	const uint8_t *at = message + FIXED_BYTES;
	take_text(request->hostname, &at, hostname_bytes);
	take_text(request->machine_id, &at, MACHINE_ID_BYTES);
	request->entropy = at;
	at += request->entropy_bytes;
	return take_fields(request, at, fields_bytes) && take_env(request, at + fields_bytes, message_bytes - known_bytes) &&
	       is_hostname(request->hostname) && is_machine_id(request->machine_id);
}
