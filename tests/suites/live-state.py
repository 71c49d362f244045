"""Holds 64 MiB of random memory, an open file, a counter and a child process. Reports their state on SIGUSR1.

The file contains every count in eight digits, which reveals lost, repeated and reverted counts.
The child echoes each request, followed by the hash of its own random memory.
"""
import hashlib, json, os, signal, time

STATUS = '/root/held-status'
memory = os.urandom(64 << 20)
count = 0
is_asked = True
file = os.open('/root/held-counts', os.O_RDWR | os.O_CREAT | os.O_TRUNC)

questions, ask = os.pipe()
answers, answer = os.pipe()
child = os.fork()
if child == 0:
    own = os.urandom(1 << 20)
    while True:
        os.write(answer, os.read(questions, 8) + hashlib.md5(own).hexdigest().encode())


def on_signal(_number, _frame):
    global is_asked
    is_asked = True


def counts_on_disk():
    """Whether the disk contains 1, 2, 3 … count. Reads past the page cache."""
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    written = os.pread(file, 8 * count + 8, 0)
    return written == b''.join(b'%08d' % number for number in range(1, count + 1))


def tell():
    os.write(ask, b'%08d' % count)
    said = os.read(answers, 40).decode()
    status = {
        'memory': hashlib.md5(memory).hexdigest(),
        'count': count,
        'is_file_whole': counts_on_disk(),
        'child': said[8:] if said[:8] == '%08d' % count else 'answers something else',
        'child_pid': child,
    }
    with open(STATUS + '.new', 'w') as out:
        json.dump(status, out)
    os.rename(STATUS + '.new', STATUS)


signal.signal(signal.SIGUSR1, on_signal)
while True:
    if is_asked:
        is_asked = False
        tell()
    count += 1
    os.write(file, b'%08d' % count)
    time.sleep(0.01)
