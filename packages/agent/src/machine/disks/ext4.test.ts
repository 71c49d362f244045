import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, open, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runProgram } from '../host/run-program.ts'
import { TestJail } from '../../test/test-jail.ts'
import { checkExt4, growExt4, makeExt4, type ToolPlace } from './ext4.ts'
import { admitVolume } from '../../store/volumes/headroom.ts'
import { readCondition } from './superblock.ts'

const MIB = 1024 * 1024
/** A user id that nothing else uses; `null` if the test is not root. */
const UID = process.getuid?.() === 0 ? 299_999 : null
/** Offsets in the file of the superblock's fields for state and incompatible features. */
const [STATE, INCOMPAT] = [1024 + 58, 1024 + 96]
let folder: string
let path: string
let testJail: TestJail | null = null
let place: ToolPlace
const deadline = () => Deadline.after(50_000, 'test')

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-ext4-'))
  path = join(folder, 'data')
  // Like the folder of a volume.
  await chmod(folder, 0o711)
  if (UID !== null) testJail = await TestJail.open()
  place = (work) => work({ uid: UID, jail: testJail?.jail ?? null })
})
afterAll(async () => {
  await rm(folder, { recursive: true })
  await testJail?.close()
})
beforeEach(async () => {
  await rm(path, { force: true })
  await writeFile(path, '')
  await truncate(path, 64 * MIB)
  await makeExt4(path, deadline())
})

async function write(at: number, bytes: readonly number[]): Promise<void> {
  const file = await open(path, 'r+')
  await file.write(Buffer.from(bytes), 0, bytes.length, at)
  await file.close()
}

const isWhole = async () => runProgram('e2fsck', ['-fn', path], deadline())

describe('a file system', () => {
  it('is created sparse and clean, in any size', async () => {
    expect(await readCondition(path)).toBe('clean')
    expect((await stat(path)).blocks * 512).toBeLessThan(8 * MIB)
    await truncate(path, 0)
    await truncate(path, MIB)
    await makeExt4(path, deadline())
    expect(await readCondition(path)).toBe('clean')
  })

  it('is repaired by an unprivileged user if it is marked unclean, and then belongs to the agent again', async () => {
    await write(STATE, [2, 0])
    expect(await readCondition(path)).toBe('unclean')
    await checkExt4(path, place, deadline())
    expect(await readCondition(path)).toBe('clean')
    await write(INCOMPAT, [0xc6])
    expect(await readCondition(path)).toBe('unclean')
    await checkExt4(path, place, deadline())
    expect(await readCondition(path)).toBe('clean')
    await isWhole()
    expect((await stat(path)).uid).toBe(process.getuid?.())
  })

  it('is repaired if a part of it is noise', async () => {
    await write(STATE, [2, 0])
    await write(2 * 4096, [...randomBytes(4096)])
    await checkExt4(path, place, deadline())
    expect(await readCondition(path)).toBe('clean')
    await isWhole()
  })

  it('is repaired by the tools of the host if that has no jail', async () => {
    await write(STATE, [2, 0])
    await checkExt4(path, (work) => work({ uid: UID }), deadline())
    expect(await readCondition(path)).toBe('clean')
  })

  it('grows with its file; other content stays unchanged', async () => {
    await truncate(path, 256 * MIB)
    await growExt4(path, place, deadline())
    await isWhole()
    const about = await runProgram('dumpe2fs', ['-h', path], deadline())
    expect(about).toMatch(/Block count:\s+(65536|262144)/)
    const noise = randomBytes(4096)
    await writeFile(path, noise)
    expect(await readCondition(path)).toBe('not-ext4')
    await checkExt4(path, place, deadline())
    await growExt4(path, place, deadline())
    expect((await stat(path)).size).toBe(noise.length)
  })
})

describe('space for volumes', () => {
  it('is refused with 507 before the disk of the host is full', async () => {
    await admitVolume(folder, 0, 1)
    for (const [promised, more] of [
      [Number.MAX_SAFE_INTEGER, 1],
      [0, Number.MAX_SAFE_INTEGER],
    ] as const) {
      await expect(admitVolume(folder, promised, more)).rejects.toMatchObject({
        status: 507,
        body: { error: 'insufficient host storage for volume' },
      })
    }
  })
})
