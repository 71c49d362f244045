import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { templateImage, type TemplateImage } from '@offshoot/contract/template-image'

/** The image files that a bake needs: those of this host, or of a built template. */
export interface BakeImages extends Pick<Images, 'kernel' | 'initramfs' | 'rootfs' | 'bootHash'> {
  /** A layer with the backing file `rootfs.ext4`, the root file system; `null` if there is none. */
  readonly lower?: string | null
}

/** The built images of this host (`packages/up` builds them). The agent only reads them. */
export class Images {
  readonly kernel: string
  readonly initramfs: string
  readonly preload: string
  readonly withTap: string
  readonly jail: string
  readonly tscKhz: string
  readonly writeOut: string
  /** A root with a QEMU for jails; empty if the host's own is as new. */
  readonly qemu: string
  readonly #folder: string
  #bootHash: Promise<string> | undefined

  constructor(folder: string) {
    this.#folder = folder
    this.kernel = join(folder, 'vmlinuz')
    this.initramfs = join(folder, 'initramfs.cpio.gz')
    this.preload = join(folder, 'guest-memory.so')
    this.withTap = join(folder, 'with-tap')
    this.jail = join(folder, 'jail')
    this.tscKhz = join(folder, 'tsc-khz')
    this.writeOut = join(folder, 'write-out')
    this.qemu = join(folder, 'qemu')
  }

  rootfs(template: string): string {
    return join(this.#folder, 'templates', template, 'rootfs.ext4')
  }

  /** Bytes that the template's image occupies on disk. */
  async occupiedBytes(template: string): Promise<number> {
    return (await stat(this.rootfs(template))).blocks * 512
  }

  /** @param names `null` for all templates. @returns the usable templates, and the error of each `broken` one */
  async templates(names: readonly string[] | null): Promise<{ usable: TemplateImage[]; broken: Map<string, unknown> }> {
    const usable: TemplateImage[] = []
    const broken = new Map<string, unknown>()
    for (const name of names ?? (await this.#all())) {
      try {
        usable.push(await this.#template(name))
      } catch (error) {
        broken.set(name, error)
      }
    }
    return { usable, broken }
  }

  /** Hash of the kernel and initramfs with which every guest boots. */
  async bootHash(): Promise<string> {
    this.#bootHash ??= this.#hashBootFiles()
    return this.#bootHash
  }

  async #hashBootFiles(): Promise<string> {
    const hash = createHash('sha256')
    for (const path of [this.kernel, this.initramfs])
      for await (const chunk of createReadStream(path)) hash.update(chunk)
    return hash.digest('hex')
  }

  async #all(): Promise<string[]> {
    const entries = await readdir(join(this.#folder, 'templates'), { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).map(({ name }) => name)
  }

  async #template(name: string): Promise<TemplateImage> {
    const path = join(this.#folder, 'templates', name, 'template.json')
    try {
      return templateImage.parse(JSON.parse(await readFile(path, 'utf8')))
    } catch (error) {
      throw new Error(`template ${name} cannot be used: ${path} is missing or damaged`, { cause: error })
    }
  }
}
