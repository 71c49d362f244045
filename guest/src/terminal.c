#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

// More than the buffers of a terminal hold. FIONREAD cannot tell: some bytes may not have reached the line discipline
// yet.
enum { TERMINAL_LEFT_BYTES = 256 * 1024 };

static int open_slave(int master, uint16_t rows, uint16_t columns, uid_t owner)
{
	int unlocked = 0;
	if (ioctl(master, TIOCSPTLCK, &unlocked) != 0)
		return -1;
	// TIOCGPTPEER instead of the slave's path: it also works when devpts is mounted elsewhere.
	int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return -1;
	struct termios settings;
	if (tcgetattr(slave, &settings) == 0) {
		settings.c_iflag |= IUTF8;
		tcsetattr(slave, TCSANOW, &settings);
	}
	// The user's programs may open it by its path (tmux, gpg). EPERM: the file system has no owners, which is not fatal.
	if (fchown(slave, owner, (gid_t)-1) != 0 && errno != EPERM) {
		close(slave);
		return -1;
	}
	terminal_resize(master, rows, columns);
	return slave;
}

int terminal_open(struct terminal *terminal, uint16_t rows, uint16_t columns, uid_t owner)
{
	terminal->master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (terminal->master < 0)
		return errno;
	terminal->slave = open_slave(terminal->master, rows, columns, owner);
	if (terminal->slave >= 0)
		return 0;
	int error = errno;
	close(terminal->master);
	return error;
}

void terminal_resize(int master, uint16_t rows, uint16_t columns)
{
	struct winsize size = {.ws_row = rows, .ws_col = columns};
	if (master >= 0)
		ioctl(master, TIOCSWINSZ, &size);
}

void terminal_kill(int master, pid_t pid, int signal)
{
	pid_t foreground = 0;
	if (master >= 0 && ioctl(master, TIOCGPGRP, &foreground) == 0 && foreground > 1 && foreground != pid)
		kill(-foreground, signal);
	kill(-pid, signal);
}

size_t output_left_bytes(int fd, bool is_terminal)
{
	int waiting_bytes = 0;
	if (fd < 0)
		return 0;
	if (is_terminal)
		return TERMINAL_LEFT_BYTES;
	return ioctl(fd, FIONREAD, &waiting_bytes) == 0 ? (size_t)waiting_bytes : 0;
}
