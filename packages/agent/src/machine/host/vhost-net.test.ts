import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openVhostNet, vhostNetObstacle } from './vhost-net.ts'

let folder: string
let file: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-vhost-net-'))
  file = join(folder, 'file')
  await writeFile(file, '')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('vhost-net', () => {
  it('is opened separately for each VM if the device can be opened', async () => {
    expect(await vhostNetObstacle(file)).toBeNull()
    const [first, second] = [await openVhostNet(file), await openVhostNet(file)]
    expect(first?.fd).toBeGreaterThan(2)
    expect(second?.fd).not.toBe(first?.fd)
    await first?.close()
    await second?.close()
  })

  it.each([
    ['is absent', 'none', 'there is no FOLDER/none'],
    ['cannot be opened', 'file/below', 'FOLDER/file/below cannot be opened (ENOTDIR)'],
  ])('is not used if the device %s, with the reason', async (_what, name, reason) => {
    expect(await openVhostNet(join(folder, name))).toBeNull()
    expect(await vhostNetObstacle(join(folder, name))).toBe(reason.replace('FOLDER', folder))
  })
})
