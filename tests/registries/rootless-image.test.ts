import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { ensureHostReady } from '@offshoot/up/host/debian-packages'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RootlessUser, UID } from '../setup/rootless-user.ts'

const run = promisify(execFile)
const program = resolve(import.meta.dirname, '../setup/build-image.ts')
const node = resolve(import.meta.dirname, '../../node_modules/.bin/node')

const RECIPE = {
  made_of: 'debian',
  name: 'small',
  suite: 'bookworm',
  packages: ['busybox'],
  cpu: 1,
  memory_mb: 256,
  disk_mb: 768,
  start_cmd: null,
  ready_cmd: 'true',
  description: 'a small Debian',
}
/** Needs root, ids of the image, and a device. */
const SETUP = `
useradd --create-home --uid 1000 user
su user -c 'echo mine >/home/user/file' >/dev/null
chown root:root /usr/local
chmod 4755 /bin/busybox
`

describe.skipIf(process.getuid?.() !== 0)('a Debian image that a user without root builds', () => {
  let user: RootlessUser

  beforeAll(async () => {
    await ensureHostReady(true, new AbortController().signal, ['uidmap', 'passt', 'mmdebstrap', 'e2fsprogs'])
    user = await RootlessUser.create()
  })
  afterAll(async () => user?.destroy())

  it('has the owners and modes of its files, and leaves nothing behind', async () => {
    const recipes = join(user.home, 'recipes')
    await mkdir(join(recipes, 'small/files/etc/dpkg/dpkg.cfg.d'), { recursive: true })
    await writeFile(join(recipes, 'small/files/etc/dpkg/dpkg.cfg.d/paths'), 'path-exclude=/usr/share/man/*\n')
    await writeFile(join(recipes, 'small/recipe.json'), JSON.stringify(RECIPE))
    await writeFile(join(recipes, 'small/setup.sh'), SETUP)
    const images = join(user.home, 'images')
    const built = await user.run(node, program, recipes, 'small', images)
    expect(built).toMatchObject({ code: 0, errors: '' })
    const image = join(images, 'templates/small/rootfs.ext4')
    const stat = async (path: string) => (await run('debugfs', ['-R', `stat ${path}`, image])).stdout
    expect(await stat('/home/user/file')).toMatch(/User:\s+1000\s+Group:\s+1000/)
    expect(await stat('/usr/bin/busybox')).toMatch(/Mode:\s+04755[^]*User:\s+0\s/)
    expect(await stat('/etc/shadow')).toMatch(/User:\s+0\s+Group:\s+42\s/)
    expect(await user.processes()).toEqual([])
    const foreign = await run('find', [images, '!', '-user', String(UID)])
    expect(foreign.stdout).toBe('')
    expect((await run('find', [join(images, '.building')]).catch(() => ({ stdout: '' }))).stdout).toBe('')
  })
})
