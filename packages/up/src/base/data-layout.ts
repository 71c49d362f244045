import { chmod, mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { SetupFailure } from './setup-failure.ts'

/** Paths below DIR (docs/data-directory.md). */
export interface DataLayout {
  readonly dir: string
  readonly imagesDir: string
  readonly lock: string
  readonly runningRecord: string
  readonly handover: string
  readonly credentials: string
  readonly settings: string
  readonly agentConfig: string
  readonly controlConfig: string
  readonly edgeConfig: string
  readonly e2bConfig: string
  readonly secrets: string
  readonly logs: string
  readonly postgres: string
  readonly agent: string
  readonly control: string
  readonly edge: string
  /** A restore that is not finished. */
  readonly restoring: string
}

export function dataLayout(dir: string, imagesDir: string): DataLayout {
  return {
    dir,
    imagesDir,
    lock: join(dir, 'up.lock'),
    runningRecord: join(dir, 'up.json'),
    handover: join(dir, 'handover.json'),
    credentials: join(dir, 'credentials.json'),
    settings: join(dir, 'settings.json'),
    agentConfig: join(dir, 'config/agent.json'),
    controlConfig: join(dir, 'config/control.json'),
    edgeConfig: join(dir, 'config/edge.json'),
    e2bConfig: join(dir, 'config/e2b.json'),
    secrets: join(dir, 'secrets'),
    logs: join(dir, 'logs'),
    postgres: join(dir, 'postgres'),
    agent: join(dir, 'agent'),
    control: join(dir, 'control'),
    edge: join(dir, 'edge'),
    restoring: join(dir, '.restore-new'),
  }
}

/** @throws {SetupFailure} if DIR is not a folder */
export async function doesDataDirExist(layout: DataLayout): Promise<boolean> {
  const there = await stat(layout.dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw new SetupFailure(`The data directory ${layout.dir} cannot be used (${error.code}).`)
  })
  if (there !== null && !there.isDirectory()) throw new SetupFailure(`${layout.dir} is not a directory.`)
  return there !== null
}

/**
 * DIR itself has mode 0711: QEMU's users can traverse it, but not list it. Files with secrets are readable by the owner
 * only.
 */
export async function makeDataDir(layout: DataLayout): Promise<void> {
  try {
    await mkdir(layout.dir, { recursive: true })
    await chmod(layout.dir, 0o711)
    for (const folder of [layout.secrets, join(layout.dir, 'config'), layout.logs, layout.control, layout.edge])
      await mkdir(folder, { mode: 0o700, recursive: true })
    for (const folder of [layout.agent, layout.imagesDir]) await mkdir(folder, { mode: 0o711, recursive: true })
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException
    throw new SetupFailure(`The data directory cannot be made: ${path ?? layout.dir} (${code}).`)
  }
}
