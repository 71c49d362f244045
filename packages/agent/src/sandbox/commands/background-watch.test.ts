/** Uses the real guest program on this host. A killed and restarted agent is simulated by a copy of its log and a new link. */
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execBody } from '@offshoot/contract/exec'
import type { GuestLink } from '@offshoot/guest-link/link'
import { HostGuest, deadlineFor } from '@offshoot/guest-link/testing/host-guest'
import { until } from '@offshoot/guest-link/testing/observe'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { LogRecord } from '../../store/logs/log-record.ts'
import { SandboxLog } from '../../store/logs/sandbox-log.ts'
import { listBackground, removeBackground, startBackground } from './background.ts'
import { adoptBackground } from './background-watch.ts'
import type { Sandbox } from '../model/sandbox.ts'

const silent = pino({ level: 'silent' })
let guest: HostGuest
let folder: string
let link: GuestLink
let sandbox: Sandbox

beforeEach(async () => {
  guest = await HostGuest.start()
  folder = await mkdtemp(join(tmpdir(), 'background-'))
  await begin('0')
})

afterEach(async () => {
  await sandbox.log.close()
  await guest.stop()
  link.close()
  await rm(folder, { recursive: true, force: true })
})

/** Creates the agent's objects for a sandbox with its log in the folder `name`. */
async function begin(name: string): Promise<void> {
  link = await guest.connect()
  const own = join(folder, name)
  const options = { folder: own, consolePath: join(own, 'console.log'), log: silent }
  await mkdir(own, { recursive: true })
  const background = { watched: new Set<string>(), attachments: new Map(), waiting: new Map(), limits: new Map() }
  const vm = { hasEnded: false, link: async () => link }
  // Only the fields that the code under test uses.
  const manifest = { status: 'running', run_as: {} }
  sandbox = { manifest, vm, background, log: new SandboxLog(options) } as unknown as Sandbox
}

/** Starts the next agent from what the last one had written by now. The last one changes nothing any more. */
async function startAnew(from: string, to: string): Promise<void> {
  const { log } = sandbox
  await cp(join(folder, from), join(folder, to), { recursive: true })
  sandbox.manifest.status = 'failed'
  link.close()
  await log.close()
  await begin(to)
  await adoptBackground(sandbox)
}

async function lines(): Promise<LogRecord[]> {
  const records: LogRecord[] = []
  for await (const batch of sandbox.log.read(1, await sandbox.log.settle())) records.push(...batch)
  return records
}

const start = async (body: unknown) => (await startBackground(sandbox, execBody.parse(body))).exec_id
const ended = (execId: string) =>
  until(`${execId} to end`, async () =>
    (await listBackground(sandbox)).some((exec) => exec.exec_id === execId && exec.status === 'exited'),
  )

it('logs all output exactly once, even if agents are killed at any moment', { tags: ['faults'] }, async () => {
  const cmd =
    'i=0; while [ $i -lt 400 ]; do i=$((i+1)); printf "out "; echo "wrong $i" >&2; echo $i; sleep 0.005; done; printf end'
  const execId = await start({ cmd })
  for (let agent = 0; agent < 5; agent++) {
    const before = (await lines()).length
    await until('more lines', async () => (await lines()).length > before + 20)
    await startAnew(String(agent), String(agent + 1))
  }
  await ended(execId)
  await until('the end in the log', async () => (await lines()).at(-1)?.line === 'end')
  const all = await lines()
  const of = (wanted: string) => all.filter(({ stream }) => stream === wanted).map(({ line }) => line)
  const numbers = Array.from({ length: 400 }, (_unused, index) => index + 1)
  expect(of('stdout')).toEqual([...numbers.map((i) => `out ${i}`), 'end'])
  expect(of('stderr')).toEqual(numbers.map((i) => `wrong ${i}`))
  expect(new Set(all.map(({ source }) => source))).toEqual(new Set([`exec:${execId}`]))
  await startAnew('5', '6')
  expect(sandbox.background.watched.size).toBe(0)
  expect(await lines()).toEqual(all)
})

it('kills commands after their timeout, also under the next agent, and no others', async () => {
  const first = await start({ cmd: 'sleep 600 & sleep 600', timeout_seconds: 1 })
  const second = await start({ cmd: 'sleep 600 & sleep 600', timeout: 2 })
  const other = await start({ cmd: 'exec sleep 600' })
  await ended(first)
  await startAnew('0', '1')
  await ended(second)
  const execs = await listBackground(sandbox)
  const summaries = execs.map(({ exec_id: id, status, exit_code: code, cmd }) => [id, [status, code, cmd]])
  const killed = ['exited', 137, 'sleep 600 & sleep 600']
  expect(Object.fromEntries(summaries)).toEqual({
    [first]: killed,
    [second]: killed,
    [other]: ['running', null, 'exec sleep 600'],
  })
  expect(execs.find(({ exec_id: id }) => id === other)?.timeout_at).toBeNull()
  for (const { started_at: start, timeout_at: limit } of execs.filter(({ timeout_at: limit }) => limit !== null)) {
    expect(Date.parse(limit ?? '')).toBeGreaterThan(Date.parse(start))
  }
  await removeBackground(sandbox, other)
  await until('nobody to be watched', () => sandbox.background.watched.size === 0)
  expect(sandbox.background.limits.size).toBe(0)
})

it('adopts commands again when the link to a running guest was lost', async () => {
  const execId = await start({ cmd: 'echo one; sleep 600' })
  await until('the line', async () => (await lines()).length === 1)
  link.close()
  link = await guest.connect()
  await until('somebody to watch it', () => sandbox.background.watched.has(execId))
  await link.signalKept(`exec:${execId}`, 'SIGTERM', deadlineFor('signal'))
  await ended(execId)
  await until('nobody to watch it', () => sandbox.background.watched.size === 0)
  expect((await lines()).map(({ line }) => line)).toEqual(['one'])
})
