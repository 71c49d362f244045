import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { DataDirInUse, DataDirLock } from './data-dir-lock.ts'

const PLACEHOLDER_ID = 65534
const LONG_MS = 30_000

let folder: string
let children: ChildProcess[]
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lock-'))
  // With the mode of the data directory: other users can pass through it.
  await chmod(folder, 0o711)
  children = []
})
afterEach(async () => {
  for (const child of children) await kill(child)
  await rm(folder, { recursive: true, force: true })
})

const acquire = async (withinMs = 0, root = folder) => DataDirLock.acquire(root, Deadline.after(withinMs, 'lock'))

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

/** A Node.js process that has run `code`: it prints something afterwards. */
/** Starts a process that runs the code, and waits for its first output. */
async function start(code: string): Promise<{ process: ChildProcess; output: string }> {
  const child = spawn(process.execPath, ['--expose-gc', '--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const [output] = (await once(child.stdout, 'data')) as [Buffer]
  return { process: child, output: output.toString() }
}

/** Takes the socket name with which earlier versions of the agent lock. */
async function holdName(uid: number): Promise<ChildProcess> {
  const { dev, ino } = await stat(folder)
  const holder = await start(`
    import { createServer } from 'node:net'
    process.setuid(${uid})
    createServer().listen('\\0offshoot-agent-${dev}-${ino}', () => console.log('held'))
  `)
  return holder.process
}

it('admits one process, by any path of the folder, and the next one after the release', async () => {
  const lock = await acquire()
  await symlink(folder, join(folder, 'same'))
  await expect(acquire(0, join(folder, 'same'))).rejects.toThrow(DataDirInUse)
  const waiting = acquire(LONG_MS)
  await lock.release()
  await (await waiting).release()
})

it('is released when its holder is killed, even if a child of the holder still runs', async () => {
  const holder = await start(
    `
    import { spawn } from 'node:child_process'
    import { DataDirLock } from ${JSON.stringify(join(import.meta.dirname, 'data-dir-lock.ts'))}
    import { Deadline } from '@offshoot/kit/deadline'
    await DataDirLock.acquire(${JSON.stringify(folder)}, Deadline.after(0, 'lock'))
    const child = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' })
    for (let turn = 0; turn < 10; turn++) {
      gc()
      await new Promise(setImmediate)
    }
    console.log(child.pid)
    setInterval(() => undefined, 1000)
  `.replaceAll('@offshoot/kit/deadline', join(import.meta.dirname, '../../../../kit/src/deadline.ts')),
  )
  await expect(acquire()).rejects.toThrow(DataDirInUse)
  await kill(holder.process)
  try {
    await (await acquire(LONG_MS)).release()
  } finally {
    process.kill(Number(holder.output), 'SIGKILL')
  }
})

it.runIf(process.geteuid?.() === 0)('cannot be held by another user', async () => {
  await holdName(PLACEHOLDER_ID)
  const lock = await acquire()
  await expect(acquire()).rejects.toThrow(DataDirInUse)
  await lock.release()
  const open = `
    process.setuid(${PLACEHOLDER_ID})
    const { open } = await import('node:fs/promises')
    console.log(await open(${JSON.stringify(join(folder, 'agent.lock'))}).then(() => 'opened', ({ code }) => code))
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', open], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [answer] = (await once(child.stdout, 'data')) as [Buffer]
  expect(answer.toString()).toBe('EACCES\n')
})

it('waits for an agent of an earlier version, which holds only the socket name', async () => {
  const earlier = await holdName(process.geteuid?.() ?? 0)
  await expect(acquire()).rejects.toThrow(DataDirInUse)
  const waiting = acquire(LONG_MS)
  await kill(earlier)
  await (await waiting).release()
})

it('keeps an agent of an earlier version out', async () => {
  const lock = await acquire()
  const { dev, ino } = await stat(folder)
  const { process: child, output } = await start(`
    import { createServer } from 'node:net'
    createServer().listen('\\0offshoot-agent-${dev}-${ino}').on('error', ({ code }) => console.log(code))
    setInterval(() => undefined, 1000)
  `)
  expect(output).toBe('EADDRINUSE\n')
  expect(child.exitCode).toBeNull()
  await lock.release()
})
