#include "tcp-streams.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bytes.h"
#include "event-sources.h"

struct tcp_stream *tcp_streams_find(struct tcp_streams *streams, uint32_t id)
{
	for (uint32_t i = 0; i < streams->used; i++)
		if (streams->slots[i].id == id)
			return &streams->slots[i];
	return NULL;
}

static void release(struct tcp_streams *streams, struct tcp_stream *stream)
{
	input_close(&stream->in);
	if (stream->fd >= 0)
		close(stream->fd);
	stream->id = 0;
	while (streams->used > 0 && streams->slots[streams->used - 1].id == 0)
		streams->used--;
}

static void close_with_reset(struct tcp_streams *streams, struct tcp_stream *stream)
{
	struct linger at_once = {.l_onoff = 1};
	setsockopt(stream->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	release(streams, stream);
}

// Nagle's algorithm would only delay: the host has already put bytes together.
static void send_at_once(int fd)
{
	int one = 1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static int begin_connect(struct tcp_stream *stream)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(stream->port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(stream->port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	if (stream->address_bytes == sizeof v4.sin_addr)
		memcpy(&v4.sin_addr, stream->address, sizeof v4.sin_addr);
	if (stream->address_bytes == sizeof v6.sin6_addr)
		memcpy(&v6.sin6_addr, stream->address, sizeof v6.sin6_addr);
	stream->fd = socket(stream->is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (stream->fd < 0)
		return errno;
	send_at_once(stream->fd);
	int result = stream->is_v6 ? connect(stream->fd, (struct sockaddr *)&v6, sizeof v6)
				   : connect(stream->fd, (struct sockaddr *)&v4, sizeof v4);
	return result == 0 || errno == EINPROGRESS ? 0 : errno;
}

static int watch(struct tcp_streams *streams, struct tcp_stream *stream)
{
	uint32_t index = (uint32_t)(stream - streams->slots);
	int result = source_watch(streams->poll_fd, EPOLL_CTL_ADD, stream->fd, EPOLLIN | EPOLLOUT, SOURCE_TCP, index);
	return result == 0 ? 0 : errno;
}

static bool is_last_address(const struct tcp_stream *stream)
{
	return stream->is_v6 || stream->address_bytes != 0;
}

// Tries the given address, or else 127.0.0.1, then ::1. Reports the first error, because this machine may have no ::1.
static int dial(struct tcp_streams *streams, struct tcp_stream *stream)
{
	int first_error = 0;
	for (;;) {
		int error = begin_connect(stream);
		if (error == 0)
			return watch(streams, stream);
		if (is_last_address(stream))
			return first_error == 0 ? error : first_error;
		first_error = error;
		if (stream->fd >= 0)
			close(stream->fd);
		stream->is_v6 = true;
	}
}

static void fail(struct tcp_streams *streams, struct tcp_stream *stream, int error)
{
	channel_send_error(streams->channel, FRAME_FAILED, stream->id, error, strerror(error));
	release(streams, stream);
}

// A slot without a connection; NULL: none is free.
static struct tcp_stream *take_slot(struct tcp_streams *streams)
{
	struct tcp_stream *stream = tcp_streams_find(streams, 0);
	if (stream == NULL && streams->used < STREAMS_MAX)
		stream = &streams->slots[streams->used++];
	return stream;
}

bool tcp_streams_has_room(struct tcp_streams *streams)
{
	return streams->used < STREAMS_MAX || tcp_streams_find(streams, 0) != NULL;
}

// DIAL has a port, CONNECT has an address after it.
static bool has_dial_shape(const struct frame *frame)
{
	if (frame->type == FRAME_DIAL)
		return frame->payload_bytes == 2;
	return frame->payload_bytes == 2 + 4 || frame->payload_bytes == 2 + 16;
}

bool tcp_streams_dial(struct tcp_streams *streams, const struct frame *frame)
{
	if (frame->stream == 0 || !has_dial_shape(frame))
		return false;
	uint16_t port = read_u16(frame->payload);
	struct tcp_stream *stream = port == 0 ? NULL : take_slot(streams);
	if (stream == NULL) {
		int error = port == 0 ? EINVAL : EAGAIN;
		channel_send_error(streams->channel, FRAME_FAILED, frame->stream, error,
				   port == 0 ? "no such port" : "too many connections");
		return true;
	}
	*stream = (struct tcp_stream){.id = frame->stream, .port = port, .fd = -1, .credit_bytes = WINDOW_BYTES};
	stream->address_bytes = (uint8_t)(frame->payload_bytes - 2);
	memcpy(stream->address, frame->payload + 2, stream->address_bytes);
	stream->is_v6 = stream->address_bytes == sizeof stream->address;
	input_open(&stream->in);
	int error = dial(streams, stream);
	if (error != 0)
		fail(streams, stream, error);
	return true;
}

void tcp_streams_adopt(struct tcp_streams *streams, uint32_t id, int fd, const struct sockaddr_storage *peer)
{
	struct tcp_stream *stream = take_slot(streams);
	if (stream == NULL) {
		close(fd);
		channel_send_error(streams->channel, FRAME_FAILED, id, EMFILE, "too many connections");
		return;
	}
	*stream = (struct tcp_stream){.id = id, .fd = fd, .is_v6 = true, .is_connected = true, .credit_bytes = WINDOW_BYTES};
	input_open(&stream->in);
	send_at_once(fd);
	int error = watch(streams, stream);
	if (error != 0) {
		fail(streams, stream, error);
		return;
	}
	uint8_t answer[2 + 16];
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)peer;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)peer;
	bool is_v6 = peer->ss_family == AF_INET6;
	size_t address_bytes = is_v6 ? sizeof v6->sin6_addr : sizeof v4->sin_addr;
	write_u16(answer, ntohs(is_v6 ? v6->sin6_port : v4->sin_port));
	memcpy(answer + 2, is_v6 ? (const void *)&v6->sin6_addr : (const void *)&v4->sin_addr, address_bytes);
	channel_send(streams->channel, FRAME_CONNECTED, 0, id, answer, 2 + address_bytes);
}

static bool take_stdin(struct tcp_streams *streams, struct tcp_stream *stream, const struct frame *frame)
{
	enum input_taken taken = input_take(&stream->in, frame, !stream->in_ended);
	if (taken == INPUT_BEYOND_WINDOW)
		return false;
	// The bytes would be lost without the server noticing.
	if (taken == INPUT_NO_MEMORY) {
		channel_send_error(streams->channel, FRAME_CLOSED, stream->id, ENOMEM, "no memory");
		close_with_reset(streams, stream);
	}
	return true;
}

static bool take_credit(struct tcp_stream *stream, const struct frame *frame)
{
	if (frame->payload_bytes != 5 || frame->payload[0] != CREDIT_STDOUT)
		return false;
	uint32_t bytes = read_u32(frame->payload + 1);
	if (bytes > WINDOW_MAX_BYTES - stream->credit_bytes)
		return false;
	stream->credit_bytes += bytes;
	return true;
}

bool tcp_streams_take(struct tcp_streams *streams, struct tcp_stream *stream, const struct frame *frame)
{
	switch (frame->type) {
	case FRAME_STDIN:
		return take_stdin(streams, stream, frame);
	case FRAME_CREDIT:
		return take_credit(stream, frame);
	case FRAME_DETACH:
		channel_send_error(streams->channel, FRAME_CLOSED, stream->id, ECONNABORTED, "ended by the host");
		close_with_reset(streams, stream);
		return true;
	default:
		return false;
	}
}

void tcp_streams_wake(struct tcp_streams *streams, uint32_t index)
{
	streams->slots[index].in_ready = streams->slots[index].out_ready = true;
}

// epoll may report an edge before the connection is made. SO_ERROR and getpeername tell whether it is.
static bool pump_connect(struct tcp_streams *streams, struct tcp_stream *stream)
{
	if (!stream->in_ready || !channel_has_room_for_answer(streams->channel))
		return false;
	int error = 0;
	socklen_t bytes = sizeof error;
	struct sockaddr_storage peer;
	socklen_t peer_bytes = sizeof peer;
	getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
	if (error == 0 && getpeername(stream->fd, (struct sockaddr *)&peer, &peer_bytes) == 0) {
		stream->is_connected = true;
		channel_send(streams->channel, FRAME_CONNECTED, 0, stream->id, NULL, 0);
		return true;
	}
	if (error == 0) {
		stream->in_ready = false;
		return false;
	}
	if (!is_last_address(stream)) {
		close(stream->fd);
		stream->is_v6 = true;
		stream->in_ready = stream->out_ready = false;
		int again = dial(streams, stream);
		// Reports the error of 127.0.0.1, which most servers use.
		if (again != 0)
			fail(streams, stream, error);
		return true;
	}
	fail(streams, stream, error);
	return true;
}

static bool pump_input(struct tcp_streams *streams, struct tcp_stream *stream)
{
	bool progress = false;
	if (!stream->in_ended && stream->in_ready) {
		enum input_written written = input_write(&stream->in, stream->fd);
		progress = written == INPUT_MOVED;
		stream->in_ready = written != INPUT_BLOCKED;
		// A server that has stopped reading may still write.
		stream->in.must_report_close = written == INPUT_BROKEN;
	}
	if (!stream->in_ended && (stream->in.must_report_close || input_is_done(&stream->in))) {
		shutdown(stream->fd, SHUT_WR);
		input_close(&stream->in);
		stream->in_ended = true;
		progress = true;
	}
	return input_answer(&stream->in, streams->channel, stream->id) || progress;
}

static void break_off(struct tcp_streams *streams, struct tcp_stream *stream, int error)
{
	channel_send_error(streams->channel, FRAME_CLOSED, stream->id, error, strerror(error));
	release(streams, stream);
}

static bool pump_output(struct tcp_streams *streams, struct tcp_stream *stream)
{
	struct channel *channel = streams->channel;
	if (stream->out_ended || !stream->out_ready || stream->credit_bytes == 0 || !channel_has_room_for_output(channel))
		return false;
	size_t most = stream->credit_bytes < FRAME_PAYLOAD_MAX_BYTES ? stream->credit_bytes : FRAME_PAYLOAD_MAX_BYTES;
	ssize_t got = read(stream->fd, channel_begin(channel), most);
	if (got > 0) {
		channel_commit(channel, FRAME_STDOUT, 0, stream->id, (size_t)got);
		stream->credit_bytes -= (uint32_t)got;
		return true;
	}
	if (got < 0 && errno == EAGAIN) {
		stream->out_ready = false;
		return false;
	}
	if (got < 0 && errno != EINTR) {
		break_off(streams, stream, errno);
		return true;
	}
	if (got == 0) {
		channel_send(channel, FRAME_STDOUT, FLAG_END, stream->id, NULL, 0);
		stream->out_ended = true;
	}
	return true;
}

static bool pump_end(struct tcp_streams *streams, struct tcp_stream *stream)
{
	if (!stream->in_ended || !stream->out_ended || !channel_has_room_for_answer(streams->channel))
		return false;
	channel_send_error(streams->channel, FRAME_CLOSED, stream->id, 0, "");
	release(streams, stream);
	return true;
}

static bool pump(struct tcp_streams *streams, struct tcp_stream *stream)
{
	if (!stream->is_connected)
		return pump_connect(streams, stream);
	bool progress = pump_input(streams, stream);
	progress |= pump_output(streams, stream);
	return (stream->id != 0 && pump_end(streams, stream)) || progress;
}

bool tcp_streams_pump(struct tcp_streams *streams)
{
	bool progress = false;
	uint32_t count = streams->used;
	uint32_t first = count == 0 ? 0 : streams->first_served++ % count;
	for (uint32_t i = 0; i < count; i++) {
		struct tcp_stream *stream = &streams->slots[(first + i) % count];
		if (stream->id != 0)
			progress |= pump(streams, stream);
	}
	return progress;
}

void tcp_streams_end(struct tcp_streams *streams)
{
	for (uint32_t i = streams->used; i-- > 0;)
		if (streams->slots[i].id != 0)
			close_with_reset(streams, &streams->slots[i]);
}
