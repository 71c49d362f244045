import type { TemplateImage } from '@offshoot/contract/template-image'
import { Deadline } from '@offshoot/kit/deadline'
import { join } from 'node:path'
import { BakingSlot } from '../start/baking-slot.ts'
import type { Host } from '../model/host.ts'
import type { TemplateDisk } from '../../store/templates/template-record.ts'
import { ROOTFS } from '../../store/bakes/bake-files.ts'
import { Bakes, type BakedTemplate } from '../../machine/bakes/bakes.ts'
import type { BakeImages } from '../../store/bakes/images.ts'
import { QemuEnded } from '../../machine/vm/launch.ts'
import { BuildFailure } from '../../store/builds/build-failure.ts'
import { buildFiles, finishUnpacking, type BuildFiles } from '../../store/builds/build-files.ts'
import type { BuildLog } from '../../store/builds/build-log.ts'
import type { BuildRecord } from '../../store/builds/build-record.ts'
import { extractDisk } from './extract-disk.ts'
import { readArchive, type ReadArchive } from '../../store/builds/read-archive.ts'
import { startImage, type ImageStart } from './start-image.ts'
import { unpackLayers } from './unpack-layers.ts'

/** Milliseconds to decompress and unpack gigabytes under TCG. */
const UNPACK_MS = 1_800_000
/** Milliseconds for the boot, the start command and the ready command together. */
const BOOT_MS = 300_000

export interface BuildPlace {
  readonly host: Host
  /** The files that every template boots with. */
  readonly images: Pick<BakeImages, 'kernel' | 'initramfs' | 'bootHash'>
  /** The template from which the unpacking VM is restored; `null` while this host has none. */
  readonly worker: BakedTemplate | null
  /** `builds/ID` */
  readonly folder: string
  readonly log: BuildLog
  /** Called before the boot, after unpacking. */
  readonly onBaking: () => Promise<void>
}

export interface Built {
  readonly image: TemplateImage
  readonly baked: BakedTemplate
  readonly digest: string
  readonly disk: TemplateDisk
}

/** An unpacked template before its bake. */
type Unbaked = Omit<Built, 'baked'>

/** Builds a template from an uploaded archive or from the disk of a sandbox, and bakes it. @throws BuildFailure */
export async function runBuild(place: BuildPlace, record: BuildRecord, cancelled: AbortSignal): Promise<Built> {
  const deadline = Deadline.after(UNPACK_MS, `unpacking of build ${record.id}`, cancelled)
  const files = buildFiles(place.folder)
  const { image, disk, digest } =
    record.image === null
      ? await fromArchive(place, files, record, deadline)
      : await fromSandbox(place, files, record, record.image, deadline)
  await place.onBaking()
  place.log.say('booting', 'booting', 65)
  return { image, disk, digest, baked: await bakeImage(place, image, disk, cancelled) }
}

async function fromSandbox(
  { host, folder, log }: BuildPlace,
  { source, lower }: BuildFiles,
  { bytes, sha256 }: BuildRecord,
  image: TemplateImage,
  deadline: Deadline,
): Promise<Unbaked> {
  log.say(`reading the sandbox's disk: ${bytes} bytes of its own`, 'reading', 1)
  await extractDisk(
    host,
    { folder, source, lower, onProgress: (share) => log.say('reading', 'reading', 60 * share) },
    deadline,
  )
  return { image, disk: { rootfs: join(source, ROOTFS), lower }, digest: `sha256:${sha256}` }
}

async function fromArchive(
  { host, worker, folder, log }: BuildPlace,
  files: BuildFiles,
  record: BuildRecord,
  deadline: Deadline,
): Promise<Unbaked> {
  if (worker === null) throw new BuildFailure('this host has no template that could unpack it')
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
  await finishUnpacking(files)
  const disk = { rootfs: files.rootfs, lower: null }
  return { image: imageOf(record, archive), disk, digest: archive.digest ?? `sha256:${record.sha256}` }
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
    // An empty start_cmd means none, not even the image's own command.
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

/** Boots and bakes a template in a VM of its own, without a network. @throws BuildFailure */
export async function bakeImage(
  { host, images, log }: Pick<BuildPlace, 'host' | 'images' | 'log'>,
  image: TemplateImage,
  { rootfs, lower }: TemplateDisk,
  cancelled: AbortSignal,
): Promise<BakedTemplate> {
  const slot = new BakingSlot(host, image.memory_mb)
  const bakes = new Bakes({
    folder: host.store.dir.bakes,
    images: {
      kernel: images.kernel,
      initramfs: images.initramfs,
      bootHash: () => images.bootHash(),
      rootfs: () => rootfs,
      lower,
    },
    qemu: host.platform.qemus.current,
    slot: () => slot.open(),
    machineOf: host.platform.machines.of,
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
