#include "tcp-listeners.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bytes.h"
#include "event-sources.h"

enum { BACKLOG = 128 };

struct tcp_listener *tcp_listeners_find(struct tcp_listeners *listeners, uint32_t id)
{
	for (uint32_t i = 0; i < TCP_LISTENERS_MAX; i++)
		if (listeners->slots[i].id == id)
			return &listeners->slots[i];
	return NULL;
}

static void release(struct tcp_listener *listener)
{
	close(listener->fd);
	*listener = (struct tcp_listener){0};
}

// Returns a listening socket, or -1 with errno set.
static int open_listener(uint16_t port, const uint8_t *address, bool is_v6)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	memcpy(is_v6 ? (void *)&v6.sin6_addr : (void *)&v4.sin_addr, address, is_v6 ? sizeof v6.sin6_addr : sizeof v4.sin_addr);
	int one = 1;
	int fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	int result = is_v6 ? bind(fd, (struct sockaddr *)&v6, sizeof v6) : bind(fd, (struct sockaddr *)&v4, sizeof v4);
	if (result == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	int error = errno;
	close(fd);
	errno = error;
	return -1;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage own;
	socklen_t bytes = sizeof own;
	if (getsockname(fd, (struct sockaddr *)&own, &bytes) != 0)
		return 0;
	// The port is at the same place in both families.
	return ntohs(((struct sockaddr_in *)&own)->sin_port);
}

bool tcp_listeners_listen(struct tcp_listeners *listeners, const struct frame *frame)
{
	if (frame->stream == 0 || (frame->payload_bytes != 2 + 4 && frame->payload_bytes != 2 + 16))
		return false;
	struct tcp_listener *listener = tcp_listeners_find(listeners, 0);
	if (listener == NULL) {
		channel_send_error(listeners->channel, FRAME_FAILED, frame->stream, EAGAIN, "too many listeners");
		return true;
	}
	int fd = open_listener(read_u16(frame->payload), frame->payload + 2, frame->payload_bytes == 2 + 16);
	uint32_t index = (uint32_t)(listener - listeners->slots);
	if (fd < 0 || source_watch(listeners->poll_fd, EPOLL_CTL_ADD, fd, EPOLLIN, SOURCE_TCP_LISTENER, index) != 0) {
		int error = errno;
		if (fd >= 0)
			close(fd);
		channel_send_error(listeners->channel, FRAME_FAILED, frame->stream, error, strerror(error));
		return true;
	}
	*listener = (struct tcp_listener){.id = frame->stream, .fd = fd};
	uint8_t answer[2];
	write_u16(answer, port_of(fd));
	channel_send(listeners->channel, FRAME_LISTENING, 0, frame->stream, answer, sizeof answer);
	return true;
}

bool tcp_listeners_accept(struct tcp_listeners *listeners, struct tcp_streams *streams, const struct frame *frame)
{
	if (frame->stream == 0 || frame->payload_bytes != 4 || read_u32(frame->payload) == 0)
		return false;
	struct tcp_listener *listener = tcp_listeners_find(listeners, read_u32(frame->payload));
	struct sockaddr_storage peer = {0};
	socklen_t bytes = sizeof peer;
	int error = listener == NULL ? ENOENT : tcp_streams_has_room(streams) ? 0 : EMFILE;
	int fd = error != 0 ? -1 : accept4(listener->fd, (struct sockaddr *)&peer, &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0) {
		tcp_streams_adopt(streams, frame->stream, fd, &peer);
		return true;
	}
	if (error == 0)
		error = errno;
	channel_send_error(listeners->channel, FRAME_FAILED, frame->stream, error, strerror(error));
	return true;
}

bool tcp_listeners_take(struct tcp_listeners *listeners, struct tcp_listener *listener, const struct frame *frame)
{
	if (frame->type != FRAME_DETACH)
		return false;
	channel_send_error(listeners->channel, FRAME_CLOSED, listener->id, ECONNABORTED, "ended by the host");
	release(listener);
	return true;
}

void tcp_listeners_wake(struct tcp_listeners *listeners, uint32_t index)
{
	listeners->slots[index].ready = true;
}

bool tcp_listeners_pump(struct tcp_listeners *listeners)
{
	bool progress = false;
	for (uint32_t i = 0; i < TCP_LISTENERS_MAX; i++) {
		struct tcp_listener *listener = &listeners->slots[i];
		if (listener->id == 0 || !listener->ready || !channel_has_room_for_answer(listeners->channel))
			continue;
		channel_send(listeners->channel, FRAME_INCOMING, 0, listener->id, NULL, 0);
		listener->ready = false;
		progress = true;
	}
	return progress;
}

void tcp_listeners_end(struct tcp_listeners *listeners)
{
	for (uint32_t i = 0; i < TCP_LISTENERS_MAX; i++)
		if (listeners->slots[i].id != 0)
			release(&listeners->slots[i]);
}
