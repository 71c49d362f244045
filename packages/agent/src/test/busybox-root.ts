import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TarItem } from './tar-archive.ts'

const run = promisify(execFile)
const APPLETS = [
  'sh',
  'cat',
  'echo',
  'grep',
  'id',
  'ls',
  'nc',
  'ps',
  'pwd',
  'sleep',
  'stat',
  'env',
  'touch',
  'true',
  'false',
  'httpd',
  'df',
]

/** The smallest image that runs a shell: the busybox of the template `minimal`. */
export async function busyboxRoot(): Promise<TarItem[]> {
  const images = process.env['OFFSHOOT_IMAGES_DIR']
  if (images === undefined) throw new Error('OFFSHOOT_IMAGES_DIR must name the built images')
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-busybox-'))
  try {
    const file = join(folder, 'busybox')
    await run('debugfs', ['-R', `dump /bin/busybox ${file}`, join(images, 'templates/minimal/rootfs.ext4')])
    return [
      { name: 'bin/', kind: '5', mode: 0o755 },
      { name: 'bin/busybox', mode: 0o755, content: await readFile(file) },
      ...APPLETS.map((applet) => ({ name: `bin/${applet}`, kind: '2', target: 'busybox' })),
    ]
  } finally {
    await rm(folder, { recursive: true })
  }
}
