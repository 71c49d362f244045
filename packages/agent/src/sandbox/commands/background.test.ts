/** Uses the real guest program on this host. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execBody } from '@offshoot/contract/exec'
import type { GuestLink } from '@offshoot/guest-link/link'
import { HostGuest } from '@offshoot/guest-link/testing/host-guest'
import type { LogChunk } from '@offshoot/guest-link/log-output'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SandboxLog } from '../../store/logs/sandbox-log.ts'
import type { Sandbox } from '../model/sandbox.ts'
import {
  attachBackground,
  findBackground,
  removeBackground,
  resizeBackground,
  signalBackground,
  startBackground,
  waitForBackground,
  writeToBackground,
} from './background.ts'

const never = new AbortController().signal
const ended = { status: 409, body: { error: 'conflict', detail: 'the command has ended' } }
const closed = { status: 409, body: { error: 'conflict', detail: 'the standard input of the command is closed' } }

describe('a background command', () => {
  let guest: HostGuest
  let folder: string
  let link: GuestLink
  let sandbox: Sandbox

  beforeAll(async () => {
    guest = await HostGuest.start()
    link = await guest.connect()
    folder = await mkdtemp(join(tmpdir(), 'background-'))
    await mkdir(join(folder, 'own'))
    const own = join(folder, 'own')
    const log = new SandboxLog({
      folder: own,
      consolePath: join(own, 'console.log'),
      log: pino({ level: 'silent' }),
    })
    const background = { watched: new Set<string>(), attachments: new Map(), waiting: new Map(), limits: new Map() }
    // Only the fields that the code under test uses.
    const manifest = { status: 'running', run_as: {} }
    sandbox = { manifest, vm: { hasEnded: false, link: async () => link }, background, log } as unknown as Sandbox
  })

  afterAll(async () => {
    await sandbox.log.close()
    link.close()
    await guest.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const start = async (body: object) =>
    (await startBackground(sandbox, execBody.parse({ background: true, ...body }))).exec_id
  const write = (id: string, text: string | Buffer | undefined, isEnd = false, hangUp = never) =>
    writeToBackground(sandbox, id, { bytes: text === undefined ? undefined : Buffer.from(text), isEnd }, hangUp)
  const wait = (id: string, seconds = 60, hangUp = never) => waitForBackground(sandbox, id, seconds, hangUp)
  async function outputOf(id: string): Promise<Buffer> {
    const { output } = await attachBackground(sandbox, id, 0)
    const chunks: Buffer[] = []
    for await (const { bytes } of output as AsyncIterable<LogChunk>) chunks.push(Buffer.from(bytes))
    return Buffer.concat(chunks)
  }

  it('reads input of any bytes, in several pieces, until its end', async () => {
    const id = await start({ argv: ['cat'], stdin: 'AP8=', encoding: 'base64', stdin_open: true })
    await write(id, Buffer.from([1, 0, 254]))
    await write(id, 'last', true)
    expect(await wait(id)).toMatchObject({ status: 'exited', exit_code: 0, cmd: 'cat' })
    expect(await outputOf(id)).toEqual(Buffer.from([0, 255, 1, 0, 254, ...Buffer.from('last')]))
    await expect(write(id, 'late')).rejects.toMatchObject(ended)
  })

  it('with closed input, or without any, refuses input', async () => {
    const without = await start({ cmd: 'sleep 60' })
    await expect(write(without, 'x')).rejects.toMatchObject(closed)
    const closedSince = await start({ cmd: 'sleep 60', stdin_open: true })
    await write(closedSince, undefined, true)
    await expect(write(closedSince, 'x')).rejects.toMatchObject(closed)
    for (const id of [without, closedSince]) await removeBackground(sandbox, id)
    await expect(write(without, 'x')).rejects.toMatchObject({ status: 404 })
  })

  it('that does not read makes its writer wait, who may hang up', async () => {
    const id = await start({ cmd: 'sleep 60', stdin_open: true })
    const hangUp = new AbortController()
    const writing = write(id, Buffer.alloc(1024 * 1024), false, hangUp.signal)
    hangUp.abort(new Error('hung up'))
    await expect(writing).rejects.toThrow('hung up')
    await removeBackground(sandbox, id)
  })

  it('is found by its process id, of which the newest counts', async () => {
    const id = await start({ argv: ['sleep', '60'] })
    const { pid } = await findBackground(sandbox, id)
    expect(await findBackground(sandbox, String(pid))).toMatchObject({ exec_id: id, cmd: 'sleep 60' })
    await signalBackground(sandbox, id, 'SIGKILL')
    expect(await wait(String(pid))).toMatchObject({ exec_id: id, exit_code: 137 })
    for (const unknown of ['4294967295', '0', '007', 'x', '99999999999'])
      await expect(findBackground(sandbox, unknown)).rejects.toMatchObject({ status: 404 })
  })

  it('is waited for until it ends, the time is over, or the caller hangs up', async () => {
    const id = await start({ cmd: 'read line; exit 3', stdin_open: true })
    expect(await wait(id, 0.05)).toMatchObject({ status: 'running', exit_code: null })
    const hangUp = new AbortController()
    const left = wait(id, 60, hangUp.signal)
    hangUp.abort()
    expect(await left).toMatchObject({ status: 'running' })
    const both = [wait(id), wait(id)]
    await write(id, 'go\n')
    for (const end of await Promise.all(both)) expect(end).toMatchObject({ status: 'exited', exit_code: 3 })
  })

  it('has a terminal of the wanted size, which can be changed, and whose input stays open', async () => {
    const id = await start({ cmd: 'stty size; read line; stty size; echo $TERM', pty: { rows: 30, cols: 70 } })
    expect(await findBackground(sandbox, id)).toMatchObject({ is_pty: true })
    await resizeBackground(sandbox, id, { rows: 40, cols: 90 })
    await write(id, 'go\n')
    expect(await wait(id)).toMatchObject({ exit_code: 0 })
    expect((await outputOf(id)).toString()).toContain('40 90\r\nxterm-256color')
    await expect(resizeBackground(sandbox, id, { rows: 1, cols: 1 })).rejects.toMatchObject(ended)
  })

  it('shows its arguments as a shell would take them', async () => {
    const id = await start({ argv: ['printf', '%s|', 'a b', "it's", ''] })
    expect(await wait(id)).toMatchObject({ cmd: `printf '%s|' 'a b' 'it'\\''s' ''`, is_pty: false })
    expect((await outputOf(id)).toString()).toBe("a b|it's||")
  })

  it('with a program that does not exist does not start', async () => {
    await expect(start({ argv: ['no-such-program'] })).rejects.toMatchObject({ status: 400 })
  })

  it('with backpressure waits for its first client, which gets all of its output', async () => {
    const bytes = 5_000_000
    const id = await start({ cmd: `head -c ${bytes} /dev/zero`, backpressure: true })
    expect(await findBackground(sandbox, id)).toMatchObject({ oldest_offset: 0, exit_code: null })
    expect((await outputOf(id)).length).toBe(bytes)
  })
})
