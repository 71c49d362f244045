import type { TemplateImage } from '@offshoot/contract/template-image'
import { Deadline } from '@offshoot/kit/deadline'
import { chmod, rm } from 'node:fs/promises'
import { BakingSlot } from '../sandboxes/baking-slot.ts'
import type { Host } from '../sandboxes/host.ts'
import { Bakes, type BakedTemplate } from '../vm/bakes.ts'
import type { BakeImages } from '../vm/images.ts'
import { QemuEnded } from '../vm/launch.ts'
import { BuildFailure } from './build-failure.ts'
import { buildFiles } from './build-files.ts'
import type { BuildLog } from './build-log.ts'
import type { BuildRecord } from './build-record.ts'
import { readArchive, type ReadArchive } from './read-archive.ts'
import { startImage, type ImageStart } from './start-image.ts'
import { unpackLayers } from './unpack-layers.ts'

/** Milliseconds to take away compression and unpack: gigabytes under emulation. */
const UNPACK_MS = 1_800_000
/** Milliseconds for the boot, the start command and the ready command together. */
const BOOT_MS = 300_000

export interface BuildPlace {
  readonly host: Host
  /** What every template boots from. */
  readonly images: Pick<BakeImages, 'kernel' | 'initramfs' | 'bootHash'>
  /** The machine that unpacks is restored from this. */
  readonly worker: BakedTemplate
  /** `builds/ID` */
  readonly folder: string
  readonly log: BuildLog
  /** Told once what was unpacked is about to be booted. */
  readonly onBaking: () => Promise<void>
}

export interface Built {
  readonly image: TemplateImage
  readonly baked: BakedTemplate
  readonly digest: string
  /** Path of its image. */
  readonly rootfs: string
}

/** From an uploaded archive to a template that can be restored. @throws BuildFailure */
export async function runBuild(place: BuildPlace, record: BuildRecord, cancelled: AbortSignal): Promise<Built> {
  const { host, worker, folder, log } = place
  const files = buildFiles(folder)
  const deadline = Deadline.after(UNPACK_MS, `unpacking of build ${record.id}`, cancelled)
  log.say(`reading ${record.bytes} bytes`, 'reading', 1)
  const archive = await readArchive(files, record.size_mb, deadline.signal)
  log.say(`${archive.layers.length} layer(s)${archive.config === null ? '' : ' of an image'}`, 'unpacking', 10)
  await unpackLayers(
    host,
    { id: record.id, folder, worker, disk: files.rootfs },
    archive,
    record.size_mb,
    log,
    deadline,
  )
  // Never written again: its bake reads it, under the VM's own user.
  await chmod(files.rootfs, 0o444)
  for (const path of [files.flat, `${files.flat}.layers`]) await rm(path, { force: true })
  await place.onBaking()
  log.say('booting', 'booting', 65)
  const image = imageOf(record, archive)
  const baked = await bakeImage(place, image, files.rootfs, cancelled)
  return { image, baked, digest: archive.digest ?? `sha256:${record.sha256}`, rootfs: files.rootfs }
}

function imageOf(record: BuildRecord, { config }: ReadArchive): TemplateImage {
  const { id, name, sha256, cpu, memory_mb, size_mb, start_cmd, ready_cmd } = record
  return {
    name: id,
    title: name,
    version: sha256,
    cpu,
    memory_mb,
    disk_mb: size_mb,
    start_cmd: start_cmd === undefined || start_cmd === '' ? null : start_cmd,
    ready_cmd: ready_cmd === undefined || ready_cmd === '' ? null : ready_cmd,
    description: '',
    packages: {},
    // An empty start_cmd asks for none at all.
    ...(start_cmd === undefined && config !== null && config.start.length > 0 && { start_argv: [...config.start] }),
    ...(config !== null && { env: { ...config.env } }),
    ...(config?.cwd != null && { cwd: config.cwd }),
    ...(config?.user != null && { user: config.user }),
  }
}

function startOf({ start_cmd, start_argv }: TemplateImage): ImageStart | null {
  if (start_cmd !== null) return { argv: ['/bin/sh', '-c', start_cmd], isImages: false }
  return start_argv === undefined ? null : { argv: start_argv, isImages: true }
}

/** In a machine of its own, without a network. @throws BuildFailure */
export async function bakeImage(
  { host, images, log }: Pick<BuildPlace, 'host' | 'images' | 'log'>,
  image: TemplateImage,
  rootfs: string,
  cancelled: AbortSignal,
): Promise<BakedTemplate> {
  const slot = new BakingSlot(host, image.memory_mb)
  const bakes = new Bakes({
    folder: host.dir.bakes,
    images: { ...images, bootHash: () => images.bootHash(), rootfs: () => rootfs },
    qemu: host.qemu,
    slot: () => slot.open(),
    machineOf: host.machines.of,
  })
  const release = await host.gates.admission.admit(image.memory_mb)
  const deadline = Deadline.after(BOOT_MS, `boot of build ${image.name}`, cancelled)
  try {
    return await bakes.ensure(image, deadline, startImage(startOf(image), log))
  } catch (error) {
    if (error instanceof QemuEnded) throw new BuildFailure('the machine ended while it was booted', { cause: error })
    throw error
  } finally {
    await slot.release()
    release()
  }
}
