import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { hashTexts } from './content-hash.ts'
import { cpioArchive, type CpioEntry } from './cpio-archive.ts'
import type { Step, StepWork } from './step.ts'

/** Increment when this step's output changes for equal inputs. */
const VERSION = '1'

/**
 * Builds the initramfs of every guest: the guest program as `/init`, and the kernel modules for its disk and its
 * channel.
 */
export function initramfsStep(): Step {
  return {
    name: 'initramfs',
    title: 'initramfs',
    after: ['kernel', 'guest-program'],
    outputs: ['initramfs.cpio.gz'],
    maxSeconds: 60,
    inputsHash: async () => hashTexts(VERSION),
    run,
  }
}

async function run(work: StepWork): Promise<void> {
  const archive = cpioArchive([
    ...['dev', 'proc', 'sys', 'newroot', 'modules'].map((path) => ({ kind: 'folder' as const, path, mode: 0o755 })),
    // The kernel opens it for init before anything is mounted.
    { kind: 'character-device', path: 'dev/console', mode: 0o600, major: 5, minor: 1 },
    { kind: 'file', path: 'init', mode: 0o755, content: await readFile(join(work.imagesDir, 'offshoot-guest')) },
    ...(await moduleEntries(join(work.imagesDir, 'modules'))),
  ])
  // Level 1, because the guest unpacks it on an emulated CPU, and higher levels save few bytes.
  await writeFile(join(work.folder, 'initramfs.cpio.gz'), await promisify(gzip)(archive, { level: 1 }))
}

async function moduleEntries(folder: string): Promise<readonly CpioEntry[]> {
  const names = (await readdir(folder)).sort()
  return Promise.all(
    names.map(async (name) => ({
      kind: 'file' as const,
      path: `modules/${name}`,
      mode: 0o644,
      content: await readFile(join(folder, name)),
    })),
  )
}
