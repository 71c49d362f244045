import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Resolvers } from './resolvers.ts'

let folder: string
beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'offshoot-resolvers-'))))
afterEach(() => rm(folder, { recursive: true }))

const files = () => ({ upstream: join(folder, 'upstream'), own: join(folder, 'own') })

it('returns the name servers of the host', async () => {
  await writeFile(
    files().own,
    '# nameserver 9.9.9.9\nsearch example\nnameserver 10.0.0.1\nnameserver\tfd00::1\nnameserver nonsense\n',
  )
  expect(await new Resolvers(files()).current()).toEqual(['10.0.0.1', 'fd00::1'])
})

it('returns at most three, including local ones', async () => {
  await writeFile(files().own, 'nameserver 127.0.0.1\nnameserver 1.1.1.1\nnameserver 2.2.2.2\nnameserver 3.3.3.3\n')
  expect(await new Resolvers(files()).current()).toEqual(['127.0.0.1', '1.1.1.1', '2.2.2.2'])
})

it('returns the upstream servers of systemd-resolved instead of its stub', async () => {
  await writeFile(files().own, 'nameserver 127.0.0.53\n')
  expect(await new Resolvers(files()).current()).toEqual(['127.0.0.53'])
  await writeFile(files().upstream, 'nameserver 192.168.0.1\n')
  expect(await new Resolvers(files()).current()).toEqual(['192.168.0.1'])
})

it('re-reads a changed file, and returns nothing if there is no file', async () => {
  const resolvers = new Resolvers(files())
  expect(await resolvers.current(0)).toEqual([])
  await writeFile(files().own, 'nameserver 10.0.0.1\n')
  expect(await resolvers.current(1)).toEqual([])
  expect(await resolvers.current(60_000)).toEqual(['10.0.0.1'])
})

it('replaces servers on the loopback, where that is not the loopback of the agent', async () => {
  await writeFile(files().own, 'nameserver 127.0.0.1\nnameserver ::1\nnameserver 10.0.0.1\n')
  expect(await new Resolvers(files(), '192.0.0.3').current()).toEqual(['192.0.0.3', '10.0.0.1'])
})
