import { randomBytes, randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SandboxId } from '@offshoot/contract/ids'
import type { GuestLink } from '@offshoot/guest-link/link'
import { HostGuest } from '@offshoot/guest-link/testing/host-guest'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Sandbox } from '../model/sandbox.ts'
import { Archive } from '../../store/archives/archive.ts'
import { Archives } from '../../store/archives/archives.ts'
import { MAX_FILE_BYTES } from '../../store/archives/spool.ts'
import { takeFiles } from './take-files.ts'

const FIRST = '00000001000000000000000A'
const SECOND = '00000001000000000000000B'

let guest: HostGuest
let link: GuestLink
let place: string
let spool: string
let archives: Archives
let sandbox: Pick<Sandbox, 'id' | 'vm' | 'leaving'>

beforeAll(async () => {
  guest = await HostGuest.start()
  link = await guest.connect()
  place = await mkdtemp(join(tmpdir(), 'offshoot-archive-'))
})
afterAll(async () => {
  link?.close()
  await guest?.stop()
  await rm(place, { recursive: true, force: true })
})
beforeEach(async () => {
  const id = randomUUID() as SandboxId
  spool = join(guest.root, id)
  await mkdir(spool)
  archives = new Archives({ sandbox: (of) => join(place, of) })
  // A real guest program without a VM. The fields that are left out are not used by the code under test.
  sandbox = { id, vm: { link: async () => link } as unknown as Sandbox['vm'], leaving: new AbortController() }
})

const take = () => takeFiles(archives, sandbox, spool)
const folder = () => join(place, sandbox.id, 'archive')
const put = (name: string, content: string | Buffer) => writeFile(join(spool, name), content)

it('archives spooled files in order, each once', async () => {
  const content = randomBytes(100_000)
  await put(SECOND, content)
  await put(FIRST, 'first')
  expect(await take()).toBe(2)
  expect(await readdir(spool)).toEqual([])
  const archive = await archives.of(sandbox)
  expect(archive.names).toEqual([FIRST, SECOND])
  expect(await archive.read(SECOND)).toEqual(content)
  expect(await archive.read('00000002.history')).toBeNull()
  // As if the agent was killed before it removed the file from the spool. Its content may have changed since.
  await put(FIRST, 'other')
  expect(await take()).toBe(1)
  expect(String(await archive.read(FIRST))).toBe('first')
  expect([await take(), await readdir(spool), archive.gapAtMs]).toEqual([0, [], null])
})

it('archives a file again if the agent was killed while it wrote', async () => {
  await mkdir(folder(), { recursive: true })
  await writeFile(join(folder(), `${FIRST}.zst.123.new`), 'half')
  await put(FIRST, 'first')
  await take()
  expect(await readdir(folder())).toEqual([`${FIRST}.zst`])
  const again = await Archive.open(folder())
  expect([again.names, String(await again.read(FIRST))]).toEqual([[FIRST], 'first'])
})

it('ignores invalid names, and refuses links, folders and files that are too large', async () => {
  for (const name of ['x', `${FIRST}x`, FIRST.toLowerCase(), '..zst', `${FIRST}.partial`]) await put(name, 'x')
  expect([await take(), await readdir(spool)]).toMatchObject([0, { length: 5 }])
  await symlink('/nowhere', join(spool, FIRST))
  await expect(take()).rejects.toMatchObject({ code: 'ENOENT' })
  await rm(join(spool, FIRST))
  await mkdir(join(spool, FIRST))
  await expect(take()).rejects.toMatchObject({ code: 'EISDIR' })
  await rm(join(spool, FIRST), { recursive: true })
  // A file that is too large is not archived, which leaves a gap.
  await put(FIRST, '')
  await truncate(join(spool, FIRST), MAX_FILE_BYTES + 1)
  await take()
  const archive = await archives.of(sandbox)
  expect([archive.has(FIRST), archive.gapAtMs]).toEqual([false, expect.any(Number)])
  expect(await readdir(spool)).not.toContain(FIRST)
})

it('records a gap that the guest reports, and prunes old files', async () => {
  await put('lost', '')
  await put(FIRST, 'first')
  await put('00000002.history', 'history')
  await take()
  for (const name of [`${FIRST}.zst`, '00000002.history.zst', 'lost.zst'])
    await utimes(join(folder(), name), 1000, 1000)
  const archive = await Archive.open(folder())
  expect(archive.gapAtMs).toBe(1_000_000)
  await archive.put(SECOND, Buffer.from('second'))
  await archive.prune(2_000_000)
  expect([archive.names, archive.gapAtMs]).toEqual([[SECOND, '00000002.history'], null])
  expect((await readdir(folder())).toSorted()).toEqual([`${SECOND}.zst`, '00000002.history.zst'])
})

it('does nothing for a guest without a spool, or without a VM', async () => {
  await rm(spool, { recursive: true })
  expect(await take()).toBeNull()
  sandbox = { ...sandbox, vm: null }
  expect([await take(), await readdir(place)]).toEqual([0, expect.not.arrayContaining([sandbox.id])])
})
