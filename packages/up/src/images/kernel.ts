import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hashTexts } from './content-hash.ts'
import { debianArchitecture, fetchDebianPackage } from './debian-package.ts'
import { findModules, loadOrder } from './kernel-modules.ts'
import type { Step, StepWork } from './step.ts'

/** Modules that guests need and that Debian's cloud kernel does not build in; ext4 is built in. */
const WANTED_MODULES = [
  'virtio_mmio',
  'virtio-rng',
  'virtio_blk',
  'virtio_net',
  'virtio_console',
  'virtio_balloon',
  'overlay',
  'vmw_vsock_virtio_transport',
  'tcp_diag',
] as const

/** Increment when this step's output changes for equal inputs. */
const VERSION = '1'

/**
 * Downloads Debian's current cloud kernel without installing it: `vmlinuz`, and in `modules/` the needed modules with
 * their load `order`.
 */
export function kernelStep(): Step {
  return {
    name: 'kernel',
    title: 'kernel',
    after: [],
    outputs: ['vmlinuz', 'modules'],
    maxSeconds: 300,
    inputsHash: async () => hashTexts(VERSION, debianArchitecture(), ...WANTED_MODULES),
    run,
  }
}

async function run(work: StepWork): Promise<void> {
  work.report('downloading')
  const { folder: unpacked } = await fetchDebianPackage(work, (apt) =>
    apt.dependencyOf(`linux-image-cloud-${debianArchitecture()}`),
  )
  const image = (await readdir(join(unpacked, 'boot'))).find((name) => name.startsWith('vmlinuz-'))
  if (image === undefined) throw new Error('the kernel package holds no vmlinuz')
  await copyFile(join(unpacked, 'boot', image), join(work.folder, 'vmlinuz'))

  const release = image.slice('vmlinuz-'.length)
  const modules = await findModules(join(unpacked, 'lib/modules', release))
  const order = await loadOrder(modules, WANTED_MODULES)
  const folder = join(work.folder, 'modules')
  await mkdir(folder)
  for (const module of order) await copyFile(module.path, join(folder, module.file))
  await writeFile(join(folder, 'order'), order.map((module) => `${module.file}\n`).join(''))
}
