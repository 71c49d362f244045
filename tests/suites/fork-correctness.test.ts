/** @module-tag long */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { borrow, giveBack } from '../setup/server-pool.ts'
import type { Offshoot } from '../setup/offshoot.ts'
import { until } from '../setup/until.ts'

/** Maximum difference between the clocks of guest and host in milliseconds, beyond the duration of the query. */
const CLOCK_MS = 100

/**
 * Counts in memory and on disk, in this order. On SIGUSR1 it reports both counts, the disk's read past the page cache,
 * and random bytes from its own generator.
 */
const PROGRAM = `
import os, signal, time
count, is_asked = 0, False
file = os.open('/root/count', os.O_RDWR | os.O_CREAT)
def on_signal(*_):
    global is_asked
    is_asked = True
signal.signal(signal.SIGUSR1, on_signal)
while True:
    count += 1
    os.pwrite(file, b'%08d' % count, 0)
    os.fdatasync(file)
    if is_asked:
        is_asked = False
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        said = '%d %d %s' % (count, int(os.pread(file, 8, 0)), os.urandom(16).hex())
        with open('/root/said.new', 'w') as out: out.write(said)
        os.rename('/root/said.new', '/root/said')
    time.sleep(0.005)
`

const SSH_KEY = 'ssh-keyscan -t ed25519 127.0.0.1 2>/dev/null | cut -d" " -f3'

/** Each line prints a value that must be unique to a sandbox. */
const OWN = [
  'hostname',
  'cat /etc/machine-id',
  'cat /sys/class/net/e*/address',
  'cat /proc/sys/kernel/random/uuid',
  'python3 -c "import os; print(os.getrandom(16).hex())"',
  'python3 -c "import os; print(os.urandom(16).hex())"',
  'python3 -c "import random; print(random.random())"',
  'node -p "crypto.randomUUID()"',
  'openssl rand -hex 16',
  SSH_KEY,
]

let offshoot: Offshoot
let parent: string
let children: string[]
let program: string
beforeAll(async () => {
  offshoot = await borrow()
  parent = (await offshoot.create({ template: 'base' })).id
  await offshoot.request('PUT', `/v1/sandboxes/${parent}/fs?path=/root/program.py`, { body: PROGRAM })
  program = (await output(parent, 'python3 /root/program.py </dev/null >/root/output 2>&1 & echo $!')).trim()
  await until('the program counting', async () => Number(await output(parent, 'cat /root/count || true')) > 0)
  expect(await output(parent, SSH_KEY)).not.toBe('')
  await output(parent, 'echo just before > /root/before')
  const tree = await offshoot.request('POST', `/v1/sandboxes/${parent}/fork-tree`, { body: { count: 2 } })
  expect(tree).toMatchObject({ status: 201, body: { errors: [] } })
  children = tree.body.children.map(({ id }: { id: string }) => id)
})
afterAll(giveBack)

const output = async (id: string, cmd: string) => (await offshoot.exec(id, cmd, { timeout_seconds: 60 })).stdout

describe('two children of one fork, and their parent', { tags: 'only-once' }, () => {
  // This test is first, because a wrong clock is only visible right after the fork.
  it('have the host’s time', async () => {
    for (const id of [...children, parent]) {
      const askedMs = Date.now()
      const guestMs = Number(await output(id, 'date +%s%3N'))
      const answeredMs = Date.now()
      expect(guestMs).toBeGreaterThanOrEqual(askedMs - CLOCK_MS)
      expect(guestMs).toBeLessThanOrEqual(answeredMs + CLOCK_MS)
    }
  })

  it('share no name, key or random byte', async () => {
    const lines = await Promise.all(
      [parent, ...children].map(async (id) => (await output(id, OWN.join('; echo; '))).trimEnd().split(/\n+/)),
    )
    for (const line of lines) expect(line).toHaveLength(OWN.length)
    for (const answer of lines.flat()) expect(answer).toMatch(/^\S{8,}$/)
    const shared = OWN.map((command, n) => ({ command, answers: lines.map((line) => line[n]) })).filter(
      ({ answers }) => new Set(answers).size < answers.length,
    )
    expect(shared).toEqual([])
  })

  it('have a file that was written just before, with and without the page cache', async () => {
    for (const id of children) {
      expect(await output(id, 'cat /root/before')).toBe('just before\n')
      expect(await output(id, 'sync; echo 3 > /proc/sys/vm/drop_caches; cat /root/before')).toBe('just before\n')
    }
  })

  it('go on with a memory and a disk of the same instant, and draw different bytes in the forked process', async () => {
    const drawn = new Set<string>()
    for (const id of [parent, ...children]) {
      const ask = `rm -f /root/said; kill -USR1 ${program} && while [ ! -e /root/said ]; do sleep 0.02; done; cat /root/said`
      const [inMemory, onDisk, bytes = ''] = (await output(id, ask)).split(' ')
      expect(Number(onDisk)).toBe(Number(inMemory))
      drawn.add(bytes)
    }
    expect(drawn.size).toBe(3)
  })
})
