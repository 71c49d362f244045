import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { SetupFailure } from '../base/setup-failure.ts'
import { explainLacks, missingPackages } from './debian-packages.ts'
import { findFreePort, isPortFree } from '@offshoot/kit/free-port'
import { availableMemoryBytes, checkResources } from './resources.ts'

describe('missingPackages', () => {
  it('counts only what is wholly installed', () => {
    const states = 'gcc installed\nmake config-files\nlibc6-dev installed\n'
    expect(missingPackages(states, ['gcc', 'make', 'nftables'])).toEqual(['make', 'nftables'])
  })
})

describe('explainLacks', () => {
  it('names everything in one sentence, with the commands for it', () => {
    const lacks = [{ what: 'there is no /dev/net/tun', remedy: 'modprobe tun' }]
    expect(explainLacks(['uidmap', 'passt'], lacks)).toBe(
      'Offshoot cannot start, because there is no /dev/net/tun; these Debian packages are not installed: uidmap passt. ' +
        'As root, run once: modprobe tun && apt-get install -y uidmap passt',
    )
    expect(explainLacks(['passt'], [])).toMatch(/because these Debian packages .*run once: apt-get install -y passt$/)
  })
})

describe('checkResources', () => {
  it('reads the memory that is available', () => {
    expect(availableMemoryBytes('MemTotal:  10 kB\nMemAvailable:      2048 kB\n')).toBe(2 * 1024 * 1024)
  })

  it('accepts a folder that does not exist yet', async () => {
    await expect(checkResources(['/nowhere/at/all'], { diskBytes: 1, memoryBytes: 1 })).resolves.toBeUndefined()
  })

  it.each([
    [{ diskBytes: Number.MAX_SAFE_INTEGER, memoryBytes: 1 }, /^There is too little disk space: [\d.]+ GiB .*\.$/],
    [{ diskBytes: 1, memoryBytes: Number.MAX_SAFE_INTEGER }, /^There is too little memory: [\d.]+ GiB .*\.$/],
  ])('refuses in one sentence', async (needs, sentence) => {
    const refusal = checkResources(['/'], needs)
    await expect(refusal).rejects.toThrow(SetupFailure)
    await expect(refusal).rejects.toThrow(sentence)
  })
})

describe('ports', () => {
  it('tells a taken one from a free one', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    expect(await isPortFree('127.0.0.1', port)).toBe(false)
    server.close()
    await once(server, 'close')
    expect(await isPortFree('127.0.0.1', port)).toBe(true)
    expect(await findFreePort()).toBeGreaterThan(0)
  })
})
