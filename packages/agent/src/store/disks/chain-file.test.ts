import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readChain, writeChain } from './chain-file.ts'
import { newLayerId } from './layer-id.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-chain-'))
})
afterEach(async () => rm(folder, { recursive: true }))

it('returns the chain that was recorded last', async () => {
  for (const layers of [[], [newLayerId(), newLayerId()]]) {
    const chain = { active: newLayerId(), layers }
    await writeChain(folder, chain, chain.layers.length > 0)
    expect(await readChain(folder)).toEqual({ state: 'present', record: chain })
  }
})

it('distinguishes an absent record from an unreadable one', async () => {
  expect(await readChain(folder)).toEqual({ state: 'absent' })
  for (const content of ['', '{"active":"../../x","layers":[]}', `{"active":"${newLayerId()}"}`]) {
    await writeFile(join(folder, 'chain.json'), content)
    expect(await readChain(folder)).toMatchObject({ state: 'unreadable' })
  }
})
