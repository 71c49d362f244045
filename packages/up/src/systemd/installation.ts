/** Writes the unit, and has systemd start it at each boot. Both directions can be repeated. */
import { mkdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { canAccess } from '../base/can-access.ts'
import { runCommand } from '../base/run-command.ts'
import { SetupFailure } from '../base/setup-failure.ts'
import { quoted, UNIT_MARK, UNIT_NAME } from './unit.ts'

/** A stop ends the services one after the other. */
const SYSTEMCTL_MS = 120_000
/** systemd runs if this folder is there (sd_booted(3)). */
const BOOTED = '/run/systemd/system'

export interface Target {
  /** Another root folder, for images of machines; `null`: this machine. */
  readonly root: string | null
  readonly isRootless: boolean
  readonly env: Readonly<NodeJS.ProcessEnv>
  readonly stop: AbortSignal
}

/** Path of the unit. */
export function unitPath({ root, isRootless, env }: Target): string {
  if (!isRootless) return join(root ?? '/', 'etc/systemd/system', UNIT_NAME)
  const { XDG_CONFIG_HOME: config, HOME: home = '/' } = env
  return join(root ?? '/', config?.startsWith('/') ? config : join(home, '.config'), 'systemd/user', UNIT_NAME)
}

/**
 * @returns whether the unit has changed
 * @throws {SetupFailure}
 */
export async function installUnit(target: Target, text: string): Promise<boolean> {
  await refuseWithoutSystemd(target)
  const path = unitPath(target)
  const found = await ownUnit(path)
  if (found !== text) {
    try {
      await mkdir(dirname(path), { recursive: true })
      await writeFileDurably(path, text, 0o644)
    } catch (error) {
      throw new SetupFailure(`${path} cannot be written (${(error as NodeJS.ErrnoException).code}).`, { cause: error })
    }
    await reload(target)
  }
  await systemctl(target, ['enable', UNIT_NAME])
  return found !== text
}

/**
 * Stops the service and removes its unit. VMs and the data directory stay.
 * @returns whether there was one
 * @throws {SetupFailure}
 */
export async function uninstallUnit(target: Target): Promise<boolean> {
  const path = unitPath(target)
  if ((await ownUnit(path)) === null) return false
  await refuseWithoutSystemd(target)
  await systemctl(target, ['disable', ...(target.root === null ? ['--now'] : []), UNIT_NAME])
  await rm(path)
  await reload(target)
  return true
}

/**
 * Has the unit start another program from the next boot on, with the same arguments.
 * @param from the program that it starts now
 * @returns the unit's path; `null`: there is none of ours that starts `from`
 */
export async function replaceProgram(target: Target, from: string, to: string): Promise<string | null> {
  const path = unitPath(target)
  const found = await ownUnit(path).catch(() => null)
  const [before, after] = [from, to].map((program) => `\nExecStart=${quoted(program)} `) as [string, string]
  if (found === null || !found.includes(before)) return null
  await writeFileDurably(
    path,
    found.replace(before, () => after),
    0o644,
  )
  if (await canAccess(BOOTED)) await reload(target)
  return path
}

/** @throws {SetupFailure} if somebody else wrote it */
async function ownUnit(path: string): Promise<string | null> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw new SetupFailure(`${path} cannot be read (${error.code}).`)
  })
  if (text !== null && !text.startsWith(`${UNIT_MARK}\n`))
    throw new SetupFailure(`${path} was not written by this command: move it away first.`)
  return text
}

async function refuseWithoutSystemd({ root }: Target): Promise<void> {
  if (root !== null || (await canAccess(BOOTED))) return
  throw new SetupFailure(
    'This machine does not run systemd: --print shows the unit, and --root DIR writes it into an image.',
  )
}

async function reload(target: Target): Promise<void> {
  if (target.root === null) await systemctl(target, ['daemon-reload'])
}

async function systemctl({ root, isRootless, stop }: Target, args: readonly string[]): Promise<void> {
  const where = root === null ? (isRootless ? ['--user'] : []) : [`--root=${root}`, ...(isRootless ? ['--global'] : [])]
  await runCommand('systemctl', ['--quiet', ...where, ...args], {
    deadline: Deadline.after(SYSTEMCTL_MS, 'systemctl', stop),
  })
}
