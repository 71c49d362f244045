/* Answers every request on port 3001 with two bytes. This is the smallest possible server, so the time is that of the
 * path to it. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static const char answer[] = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

int main(void)
{
	char asked[4096];
	int yes = 1;
	int server = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(3001)};
	setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (bind(server, (struct sockaddr *)&address, sizeof address) != 0 || listen(server, 64) != 0)
		return 1;
	for (;;) {
		int visitor = accept(server, NULL, NULL);
		while (read(visitor, asked, sizeof asked) > 0)
			if (write(visitor, answer, sizeof answer - 1) < 0)
				break;
		close(visitor);
	}
}
