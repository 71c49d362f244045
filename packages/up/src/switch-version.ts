import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, readlink } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { isAlive, type ProcessIdentity, signalProcess } from '@offshoot/kit/process-identity'
import { parseArguments } from './base/arguments.ts'
import type { DataLayout } from './base/data-layout.ts'
import { SetupFailure } from './base/setup-failure.ts'
import { HAND_OVER_SIGNAL, type Handover, readHandover, writeHandover } from './handover.ts'
import { readRunningRecord } from './services/running-record.ts'

/** Milliseconds until one of both versions serves: the images of the earlier one may have to be built again. */
const SWITCH_WITHIN_MS = 900_000
/** Milliseconds without a supervisor after which nobody starts one any more. systemd does so after 5 seconds. */
const GONE_MS = 30_000
const POLL_MS = 100

/** The running service. */
export interface RunningService {
  readonly supervisor: ProcessIdentity
  /** Its `bin/up`. */
  readonly program: string
}

/** @throws {SetupFailure} if no service runs that can hand over */
export async function findRunningService({ dir, runningRecord }: DataLayout): Promise<RunningService> {
  const record = await readRunningRecord(runningRecord)
  if (record === null || !(await isAlive(record.supervisor)))
    throw new SetupFailure(`No service runs in ${dir}: start the version that you want.`)
  if (record.program === null)
    throw new SetupFailure(`The version that runs in ${dir} cannot hand over: stop it, and start this one.`)
  return { supervisor: record.supervisor, program: record.program }
}

/**
 * Builds the images of the other version while the service runs, and has the supervisor change to it.
 * @throws {SetupFailure} if the service did not change, with the reason. The version before then runs, unless it says so
 */
export async function switchVersion(
  layout: DataLayout,
  { supervisor, program: from }: RunningService,
  to: string,
  stop: AbortSignal,
): Promise<void> {
  await prepareImages(supervisor, to, stop)
  await writeHandover(layout, { from, to, state: 'requested', reason: null })
  if (!signalProcess(supervisor, HAND_OVER_SIGNAL)) throw new SetupFailure('The service has ended meanwhile.')
  const { state, reason } = await settled(layout, stop)
  if (state === 'returned')
    throw new SetupFailure(`${to} did not become healthy, and ${from} runs again. The reason: ${reason}`)
}

/** Builds them for the arguments and variables of the running service. */
async function prepareImages({ pid }: ProcessIdentity, program: string, stop: AbortSignal): Promise<void> {
  const [cwd, words, variables] = await Promise.all([
    readlink(`/proc/${pid}/cwd`),
    readFile(`/proc/${pid}/cmdline`, 'utf8'),
    readFile(`/proc/${pid}/environ`, 'utf8'),
  ])
  // node, main.ts, and the arguments of `bin/up`
  const argv = words.split('\0').slice(2, -1)
  const pairs = variables.split('\0').filter((each) => each.includes('='))
  const env = Object.fromEntries(
    pairs.map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]),
  )
  delete env['NODE_COMPILE_CACHE']
  const { imagesDir } = parseArguments(argv, env, cwd)
  const child = spawn(program, ['--prepare', '--images-dir', imagesDir, '--yes'], {
    cwd,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
    signal: stop,
    killSignal: 'SIGTERM',
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new SetupFailure('The images could not be built. The service runs on unchanged.')
}

/** Waits until one of both versions serves. */
async function settled(layout: DataLayout, stop: AbortSignal): Promise<Handover> {
  const deadline = Deadline.after(SWITCH_WITHIN_MS, 'the other version', stop)
  let seenAtMs = performance.now()
  for (;;) {
    const now = await readHandover(layout)
    if (now !== null && now.state !== 'requested') return now
    const record = await readRunningRecord(layout.runningRecord)
    if (record !== null && (await isAlive(record.supervisor))) seenAtMs = performance.now()
    if (performance.now() - seenAtMs > GONE_MS)
      throw new SetupFailure(
        `The service has ended, and nothing starts it again: ${now?.reason ?? 'no reason is known'}`,
      )
    deadline.throwIfOver()
    await delay(POLL_MS)
  }
}
