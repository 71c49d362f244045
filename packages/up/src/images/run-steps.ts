/**
 * Runs the steps that build IMAGES. Each starts when the steps it depends on are done, so independent ones run in
 * parallel.
 *
 * Invariant: a stamp (`IMAGES/.stamps/NAME`, the hash of the inputs) exists only while all outputs of exactly that hash
 * are in place. A step builds its outputs in a temporary folder. It then removes the old stamp, renames the outputs
 * into place, and writes the new stamp. A crash thus leaves either old outputs, or outputs without a stamp, which the
 * next run rebuilds.
 */
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { SetupFailure } from '../base/setup-failure.ts'
import { hashTexts } from './content-hash.ts'
import { removeBuildFolder } from './image-root.ts'
import type { Step } from './step.ts'

const REMOVE_MS = 120_000

/** Receives the progress of the steps, except for skipped ones. */
export interface StepListener {
  started(step: Step): void
  reported(step: Step, what: string): void
  finished(step: Step, seconds: number): void
}

/** @throws the error of the first failing step, after all running steps have ended */
export async function runSteps(
  steps: readonly Step[],
  imagesDir: string,
  cancelled: AbortSignal,
  listener: StepListener,
): Promise<void> {
  const building = join(imagesDir, '.building')
  await removeBuildFolder(building, Deadline.after(REMOVE_MS, 'removing an unfinished build', cancelled))
  await mkdir(building, { recursive: true })
  await mkdir(join(imagesDir, '.stamps'), { recursive: true })

  const failure = new AbortController()
  const stop = AbortSignal.any([cancelled, failure.signal])
  const hashes = new Map<string, Promise<string>>()
  const hashAfter = (name: string): Promise<string> =>
    hashes.get(name) ?? Promise.reject(new Error(`step ${name} is unknown or listed too late`))

  for (const step of steps) {
    const done = Promise.all(step.after.map(hashAfter)).then((before) => settle(step, before))
    done.catch((error: unknown) => failure.abort(error))
    hashes.set(step.name, done)
  }
  await Promise.allSettled(hashes.values())
  await removeBuildFolder(building, Deadline.after(REMOVE_MS, 'removing what was built'))
  stop.throwIfAborted()

  async function settle(step: Step, before: readonly string[]): Promise<string> {
    const hash = hashTexts(step.name, await step.inputsHash(), ...before)
    if (await isCurrent(step, imagesDir, hash)) return hash
    stop.throwIfAborted()
    await build(step, hash)
    return hash
  }

  async function build(step: Step, hash: string): Promise<void> {
    const startedAtMs = performance.now()
    const folder = await mkdtemp(join(building, `${step.name}-`))
    listener.started(step)
    const deadline = Deadline.after(step.maxSeconds * 1000, step.title, stop)
    await step
      .run({ folder, imagesDir, deadline, report: (what) => listener.reported(step, what) })
      .catch((error: unknown) => {
        stop.throwIfAborted() // another step has failed, and its error counts
        if (error instanceof SetupFailure) throw error
        throw new SetupFailure(`The ${step.title} could not be made: ${(error as Error).message}`, { cause: error })
      })
    await publish(step, folder, imagesDir, hash)
    await removeBuildFolder(folder, deadline)
    listener.finished(step, (performance.now() - startedAtMs) / 1000)
  }
}

async function publish(step: Step, folder: string, imagesDir: string, hash: string): Promise<void> {
  await rm(stampPath(imagesDir, step), { force: true })
  for (const output of step.outputs) {
    const place = join(imagesDir, output)
    await mkdir(dirname(place), { recursive: true })
    await access(join(folder, output))
    await rm(place, { recursive: true, force: true }) // rename does not replace a folder
    await rename(join(folder, output), place)
  }
  await writeFileDurably(stampPath(imagesDir, step), hash, 0o644)
}

/** Whether any step has no stamp. The disk space for a build is checked only then. */
export async function isAnyMissing(steps: readonly Step[], imagesDir: string): Promise<boolean> {
  const stamps = await Promise.all(steps.map((step) => readFile(stampPath(imagesDir, step), 'utf8').catch(() => null)))
  return stamps.includes(null)
}

async function isCurrent(step: Step, imagesDir: string, hash: string): Promise<boolean> {
  const stamp = await readFile(stampPath(imagesDir, step), 'utf8').catch(() => null)
  if (stamp !== hash) return false
  const there = await Promise.allSettled(step.outputs.map((output) => access(join(imagesDir, output))))
  return there.every((result) => result.status === 'fulfilled')
}

function stampPath(imagesDir: string, step: Step): string {
  return join(imagesDir, '.stamps', step.name)
}
