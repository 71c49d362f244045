import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BLOCK_SLOTS, MAX_BLOCKS, NoFreeSlots, SlotClaims } from './slot-claims.ts'

/** No process of this machine has one of these users. */
const BASE_UID = 1_900_000_000

let folder: string
let cleared: number[]
const children: ChildProcess[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-claims-'))
  cleared = []
})

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await rm(folder, { recursive: true })
})

async function dataDir(name: string): Promise<string> {
  const path = join(folder, name)
  await mkdir(path, { recursive: true })
  return path
}

async function clear(block: number): Promise<void> {
  cleared.push(block)
}

async function open(name: string, baseUid = BASE_UID): Promise<SlotClaims> {
  return SlotClaims.open({ dataDir: await dataDir(name), baseUid, clear, folder })
}

const claimsLeft = async () => (await readdir(join(folder, 'slots'))).filter((name) => /^\d+$/.test(name))

/** Simulates a kill of the agent that owns a block. */
async function killOwner(block: number): Promise<void> {
  const path = join(folder, 'slots', String(block))
  const claim = JSON.parse(await readFile(path, 'utf8')) as object
  const child = spawn('true')
  await once(child, 'exit')
  await writeFile(path, JSON.stringify({ ...claim, process: { pid: child.pid, startTicks: 1 } }))
}

describe('claims of slots', () => {
  it('never overlap, even if agents start at the same time', async () => {
    const all = await Promise.all(['a', 'b', 'c', 'd'].map((name) => open(name)))
    const blocks = all.flatMap((claims) => claims.blocks)
    expect(new Set(blocks)).toEqual(new Set([0, 1, 2, 3]))
    const [first] = all
    await first?.claim(async () => undefined)
    expect(first?.blocks).toHaveLength(2)
    expect(first?.has(4 * BLOCK_SLOTS)).toBe(true)
    expect(first?.has(5 * BLOCK_SLOTS)).toBe(false)
  })

  it('are kept for the next agent of the same folder', async () => {
    const [before] = [await open('a'), await open('b')]
    await before.claim(async () => undefined)
    await killOwner(0)
    expect((await open('a')).blocks).toEqual([0, 2])
    expect(cleared).toEqual([])
  })

  it('of a dead agent without a folder are cleared by the next agent that starts', async () => {
    await open('a')
    await open('b')
    await killOwner(0)
    await rm(join(folder, 'a'), { recursive: true })
    expect((await open('c')).blocks).toEqual([0])
    expect(cleared).toEqual([0])
  })

  it('of a dead agent whose folder cannot be examined are kept', async () => {
    await open('disk/a')
    await killOwner(0)
    await rename(join(folder, 'disk'), join(folder, 'away'))
    // A look-up through it fails with ELOOP.
    await symlink('disk', join(folder, 'disk'))
    expect((await open('b')).blocks).toEqual([1])
    expect(cleared).toEqual([])
    await rm(join(folder, 'disk'))
    await rename(join(folder, 'away'), join(folder, 'disk'))
    expect((await open('disk/a')).blocks).toEqual([0])
  })

  it('of a dead agent that may return are kept until no other block is free', { tags: ['long'] }, async () => {
    await open('a')
    await killOwner(0)
    const other = await open('b')
    for (let count = 1; count < MAX_BLOCKS - 1; count++) await other.claim(async () => undefined)
    expect(cleared).toEqual([])
    await other.claim(async () => undefined)
    expect(cleared).toEqual([0])
    await expect(other.claim(async () => undefined)).rejects.toThrow(NoFreeSlots)
    await killOwner(1)
    // It has its own claims again; another agent has the lost one.
    expect(await open('a').catch((error: unknown) => error)).toMatchObject({ blocks: [1] })
  })

  it('stay reserved while a process runs under one of their users', async () => {
    const uid = process.getuid?.() ?? 0
    await open('a', uid)
    await killOwner(0)
    await rm(join(folder, 'a'), { recursive: true })
    expect((await open('b', uid)).blocks).toEqual([1])
    expect(cleared).toEqual([])
  })

  it('are invalid after a boot, or if damaged', async () => {
    await open('a')
    const path = join(folder, 'slots', '0')
    const claim = JSON.parse(await readFile(path, 'utf8')) as object
    await writeFile(path, JSON.stringify({ ...claim, boot_id: 'another', process: { pid: 2 ** 22, startTicks: 1 } }))
    await writeFile(join(folder, 'slots', '1'), '{"boot_id":')
    expect((await open('b')).blocks).toEqual([0])
    expect(cleared.toSorted((a, b) => a - b)).toEqual([0, 1])
  })

  it('are released, and the last release clears the machine', async () => {
    const [a, b] = [await open('a'), await open('b')]
    let last = 0
    const whenLast = async () => void (last += 1)
    await a.release(whenLast)
    expect([a.blocks, await claimsLeft(), last]).toEqual([[], ['1'], 0])
    await b.release(whenLast)
    expect([await claimsLeft(), last, cleared]).toEqual([[], 1, [0, 1]])
  })

  it('count only after they were prepared', async () => {
    const claims = await open('a')
    await expect(claims.claim(() => Promise.reject(new Error('no table')))).rejects.toThrow('no table')
    expect(claims.blocks).toEqual([0])
    // The next agent here finds it, and prepares it or does not start.
    expect((await open('a')).blocks).toEqual([0, 1])
  })
})
