import { copyFile, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { findQemu, findQemuOfImages, type Qemu } from '../machine/host/qemu.ts'
import { Images } from '../store/bakes/images.ts'

/** The words before the version in the answer to `--version`. */
const BEFORE_VERSION = 'QEMU emulator version '

/** The QEMU with which an agent emulates where it has a jail. @param imagesDir by default, the images of the tests */
export async function usedQemu(imagesDir = process.env['OFFSHOOT_IMAGES_DIR'] ?? ''): Promise<Qemu> {
  const deadline = Deadline.after(10_000, 'version of QEMU')
  const { qemu } = new Images(imagesDir)
  return (await findQemuOfImages(qemu, deadline)) ?? findQemu(deadline)
}

/**
 * That QEMU with another version number in the answer to `--version`. It stands for the QEMU that the host had before
 * an upgrade.
 */
export class OtherQemu {
  readonly version: string
  readonly #folder: string
  readonly #real: string

  private constructor(folder: string, real: string, version: string) {
    this.#folder = folder
    this.#real = real
    this.version = version
  }

  static async make(): Promise<OtherQemu> {
    const { root, path: below, version } = await usedQemu()
    const path = join(root, below)
    const other = `${version.startsWith('1') ? '2' : '1'}${version.slice(1)}`
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'offshoot-other-qemu-')))
    const program = join(folder, 'qemu')
    await copyFile(path, program)
    const bytes = await readFile(program)
    const at = bytes.indexOf(BEFORE_VERSION + version)
    if (at < 0) throw new Error(`${path} does not hold the text of its version`)
    bytes.write(other, at + BEFORE_VERSION.length, 'latin1')
    await writeFile(program, bytes)
    return new OtherQemu(folder, path, other)
  }

  /** The command line that starts a program in a mount namespace of its own, in which the host has this QEMU. */
  get under(): readonly string[] {
    const script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    const unshare = ['unshare', '--mount', '--propagation', 'private']
    return [...unshare, 'sh', '-c', script, 'sh', join(this.#folder, 'qemu'), this.#real]
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true })
  }
}
