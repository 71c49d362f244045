import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { CommandFailed, runCommand } from '../base/run-command.ts'
import { SetupFailure } from '../base/setup-failure.ts'
import type { StepWork } from './step.ts'

/** Debian's name of this machine's architecture: `amd64`, `arm64`. */
export function debianArchitecture(): string {
  const names: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64' }
  const name = names[process.arch]
  if (name === undefined) throw new SetupFailure(`Offshoot runs on amd64 and arm64, not on ${process.arch}.`)
  return name
}

export interface UnpackedPackage {
  /** The unpacked files, below the step's folder. */
  readonly folder: string
  readonly version: string
}

/**
 * Downloads a package from the host's apt sources and unpacks it without installing it. It uses package lists of its
 * own if the host's are missing or outdated, so it needs no root.
 * @param chooseName returns the package's name
 */
export async function fetchDebianPackage(
  work: StepWork,
  chooseName: (apt: Apt) => Promise<string>,
): Promise<UnpackedPackage> {
  try {
    return await fetchWith(new Apt(work, []), join(work.folder, '.package'), chooseName)
  } catch (error) {
    work.deadline.throwIfOver() // if another step failed, report that error
    if (!(error instanceof CommandFailed)) throw error
  }
  work.report('refreshing the package lists')
  return await fetchWith(await withFreshLists(work), join(work.folder, '.package-again'), chooseName)
}

async function fetchWith(
  apt: Apt,
  folder: string,
  chooseName: (apt: Apt) => Promise<string>,
): Promise<UnpackedPackage> {
  await mkdir(folder)
  const name = await chooseName(apt)
  await apt.run('apt-get', ['download', '--quiet', name], folder)
  const file = (await readdir(folder)).find((entry) => entry.endsWith('.deb'))
  if (file === undefined) throw new Error(`apt-get download ${name} left no file`)
  const unpacked = join(folder, 'unpacked')
  await apt.run('dpkg-deb', ['-x', file, unpacked], folder)
  const version = await apt.run('dpkg-deb', ['-f', file, 'Version'], folder)
  return { folder: unpacked, version: version.trim() }
}

async function withFreshLists(work: StepWork): Promise<Apt> {
  const state = join(work.folder, '.apt')
  await mkdir(join(state, 'lists/partial'), { recursive: true })
  await mkdir(join(state, 'cache/archives/partial'), { recursive: true })
  const apt = new Apt(work, [
    '-o',
    `Dir::State::Lists=${state}/lists`,
    '-o',
    `Dir::Cache=${state}/cache`,
    '-o',
    'APT::Sandbox::User=root',
  ])
  await apt.run('apt-get', ['update', '--quiet'], work.folder)
  return apt
}

/** Runs apt's programs with common options and the step's deadline. */
export class Apt {
  readonly #work: StepWork
  readonly #options: readonly string[]

  constructor(work: StepWork, options: readonly string[]) {
    this.#work = work
    this.#options = options
  }

  run(program: 'apt-get' | 'apt-cache' | 'dpkg-deb', args: readonly string[], cwd: string): Promise<string> {
    const options = program === 'dpkg-deb' ? [] : this.#options
    return runCommand(program, [...options, ...args], { deadline: this.#work.deadline, cwd })
  }

  /** The first dependency of a metapackage, e.g. `linux-image-cloud-amd64` → the current kernel. */
  async dependencyOf(name: string): Promise<string> {
    const lines = await this.run('apt-cache', ['depends', '--important', name], this.#work.folder)
    const dependency = /Depends: (\S+)/.exec(lines)?.[1]
    if (dependency === undefined) throw new CommandFailed(`apt-cache knows no package behind ${name}`)
    return dependency
  }
}
