/** @module-tag long */
import { mkdir } from 'node:fs/promises'
import { canMountDisk, SmallDisk } from '@offshoot/agent/test/small-disk'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { untilConsistent, rowsOf } from '../setup/consistency.ts'
import type { Answer } from '../setup/http.ts'
import { imagesDir, Offshoot } from '../setup/offshoot.ts'
import { layOutFromSeed } from '../setup/seed.ts'
import { until } from '../setup/until.ts'

const NO_MEMORY = { status: 507, body: { error: 'insufficient host memory for sandbox' } }
const NO_STORAGE = { status: 507, body: { error: 'insufficient host storage for sandbox' } }
const MIB = 1024 * 1024

/** Memory of two guests of 128 MiB, including their QEMU processes. */
const ROOM_FOR_TWO_MIB = 2 * (128 + 320)
const DISK_BYTES = 2048 * MIB

let offshoot: Offshoot
/** The disk of the whole service, including its database. Tests that fill it are skipped if it cannot be mounted. */
let disk: SmallDisk | null = null

beforeAll(async () => {
  offshoot = Offshoot.prepare('no-room', { env: { OFFSHOOT_COMMIT_MIB: String(ROOM_FOR_TWO_MIB) } })
  await mkdir(offshoot.dataDir, { recursive: true })
  if (canMountDisk) disk = await SmallDisk.mount(offshoot.dataDir, DISK_BYTES)
  await layOutFromSeed(offshoot.dataDir, imagesDir, ['minimal'])
  await offshoot.up()
})
// Also after a failed test.
afterEach(async () => {
  await disk?.empty()
  await removeAll()
})
afterAll(async () => {
  await offshoot.down()
  await disk?.unmount()
  await offshoot.destroy()
})

const get = (path: string) => offshoot.request('GET', path)
const post = (path: string, body?: object) => offshoot.request('POST', path, body ? { body } : {})
const act = (id: string, action: string, body?: object) => post(`/v1/sandboxes/${id}/${action}`, body)
const create = (body: object = {}) => post('/v1/sandboxes', { template: 'minimal', ...body })
const statusOf = async (id: string) => (await get(`/v1/sandboxes/${id}`)).body.status as string

/** Waits until operators see this state in /healthz. Control polls its agents. */
async function diskIs(state: string): Promise<void> {
  await until(`${state} in /healthz`, async () => (await get('/healthz')).body.checks.disk === state, 20_000)
}

async function done(answer: Promise<Answer>): Promise<Answer['body']> {
  const { status, text, body } = await answer
  expect([200, 201].includes(status) ? 'done' : `${status} ${text}`).toBe('done')
  return body
}

/** A sandbox that must keep working during all refusals: its memory, a file, and a counting process. */
class Bystander {
  readonly id: string
  readonly #hash: string
  #count = 0

  private constructor(id: string, hash: string) {
    this.id = id
    this.#hash = hash
  }

  static async begin(): Promise<Bystander> {
    const { id } = await offshoot.create()
    const { stdout } = await offshoot.exec(
      id,
      `head -c 8000000 /dev/urandom > /run/memory; cp /run/memory /root/file
      (n=0; while :; do n=$((n + 1)); echo $n > /run/count; sleep 0.1; done) </dev/null >/dev/null 2>&1 &
      md5sum < /run/memory`,
    )
    return new Bystander(id, stdout)
  }

  async goesOn(): Promise<void> {
    expect(await statusOf(this.id)).toBe('running')
    const look = `until n=$(cat /run/count); [ "0$n" -gt ${this.#count} ]; do sleep 0.1; done; echo $n`
    const { stdout } = await offshoot.exec(this.id, `${look}; md5sum < /run/memory; md5sum < /root/file`)
    const [count, ...hashes] = stdout.trim().split('\n')
    expect(hashes).toEqual([this.#hash.trim(), this.#hash.trim()])
    this.#count = Number(count)
  }
}

async function removeAll(): Promise<void> {
  for (const { id } of await rowsOf(offshoot)) await offshoot.delete(id)
  for (const { id } of (await get('/v1/snapshots')).body) await offshoot.request('DELETE', `/v1/snapshots/${id}`)
  await untilConsistent(offshoot)
}

it(
  'no memory left: what makes a VM is refused, nothing is left of it, and what runs goes on',
  { tags: ['long'] },
  async () => {
    const bystander = await Bystander.begin()
    const { id: other } = await offshoot.create()
    const { id: snapshot } = await done(act(bystander.id, 'snapshots'))
    for (const [what, answer] of [
      ['create', await create()],
      ['from_snapshot', await create({ from_snapshot: snapshot })],
      ['fork', await act(bystander.id, 'fork')],
      ['fork-tree', await act(bystander.id, 'fork-tree', { count: 3 })],
    ] as const) {
      expect({ what, ...answer }).toMatchObject({ what, ...NO_MEMORY })
      await bystander.goesOn()
    }
    expect(await rowsOf(offshoot)).toHaveLength(2)
    await done(act(other, 'hibernate'))
    const { id: third } = await offshoot.create()
    expect(await act(other, 'wake')).toMatchObject(NO_MEMORY)
    expect(await act(other, 'exec', { cmd: 'true' })).toMatchObject(NO_MEMORY)
    expect(await statusOf(other)).toBe('hibernated')
    await bystander.goesOn()
    await untilConsistent(offshoot)

    await offshoot.delete(third)
    const tree = await done(act(bystander.id, 'fork-tree', { count: 3 }))
    const [child] = tree.children
    expect(tree.children).toHaveLength(1)
    expect(tree.errors).toHaveLength(2)
    for (const { error } of tree.errors) expect(error).toBe(NO_MEMORY.body.error)
    await offshoot.delete(child.id)
    expect((await offshoot.exec(other, 'echo woken')).stdout).toBe('woken\n')
    await bystander.goesOn()
  },
)

describe.skipIf(!canMountDisk)('a full disk', () => {
  it('whatever needs some of it is refused, nothing is left of it, and what runs goes on', async () => {
    const bystander = await Bystander.begin()
    const { id: other } = await offshoot.create()
    await offshoot.exec(other, 'echo kept > /run/memory')
    const { id: snapshot } = await done(act(other, 'snapshots'))
    await done(act(other, 'hibernate'))
    // Less space than its memory image needs.
    await disk?.fill(4 * MIB)
    await diskIs('refusing')
    for (const [action, body] of [['hibernate'], ['snapshots'], ['fork'], ['fork-tree', { count: 2 }]] as const) {
      expect({ action, ...(await act(bystander.id, action, body)) }).toMatchObject({ action, ...NO_STORAGE })
      await bystander.goesOn()
    }
    for (const [what, ask] of [
      ['create', () => create()],
      ['from_snapshot', () => create({ from_snapshot: snapshot })],
      ['wake', () => act(other, 'wake')],
      ['exec', () => act(other, 'exec', { cmd: 'true' })],
    ] as const) {
      // PostgreSQL frees some space at times.
      await disk?.fillWhole()
      expect({ what, ...(await ask()) }).toMatchObject({ what, ...NO_STORAGE })
      await bystander.goesOn()
    }
    expect(await statusOf(other)).toBe('hibernated')

    await disk?.empty()
    await diskIs('ok')
    await untilConsistent(offshoot)
    expect(await rowsOf(offshoot)).toHaveLength(2)
    expect((await get('/v1/snapshots')).body).toHaveLength(1)
    expect((await offshoot.exec(other, 'cat /run/memory')).stdout).toBe('kept\n')
    await offshoot.delete(other)
    const { id: restored } = await done(create({ from_snapshot: snapshot }))
    expect((await offshoot.exec(restored, 'cat /run/memory')).stdout).toBe('kept\n')
    await done(act(bystander.id, 'hibernate'))
    await done(act(bystander.id, 'wake'))
    await bystander.goesOn()
  })

  it('every byte is back when all is deleted, on a full disk too', async () => {
    const before = (await disk?.freeBytes()) ?? 0
    const { id } = await offshoot.create()
    const { id: asleep } = await offshoot.create()
    await done(act(asleep, 'hibernate'))
    await done(act(id, 'snapshots'))
    await disk?.fill(MIB)
    await disk?.fillWhole()
    for (const each of [id, asleep]) await offshoot.delete(each)
    await disk?.empty()
    await removeAll()
    expect(before - ((await disk?.freeBytes()) ?? 0)).toBeLessThan(MIB)
  })
})
