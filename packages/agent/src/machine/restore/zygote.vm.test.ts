import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { releaseGuest } from '../guest/hold.ts'
import { continueReleased } from '../guest/hold.ts'
import { VmHost } from '../../test/vm-host.ts'
import { lastWords } from '../vm/launch.ts'
import { Zygote } from './zygote.ts'

let host: VmHost
beforeAll(async () => {
  host = await VmHost.open()
})
afterAll(() => host.close())

describe('a zygote', () => {
  it('makes children that run on their own', async () => {
    const zygote = await Zygote.start(
      { ...(await host.restoreOptions()), layers: host.layers, greet: releaseGuest },
      async (vm) => {
        await host.sh(vm, 'echo prepared > /root/file; echo memory > /run/memory')
      },
      host.deadline,
    )
    const begun = performance.now()
    const child = await zygote.fork(await host.restoreOptions(), host.deadline).catch(async (error) => {
      console.log(zygote.vm.hasEnded, await lastWords(zygote.vm.log!))
      const end = await Promise.race([zygote.vm.ended, new Promise((r) => setTimeout(r, 1000))])
      console.log(end)
      throw error
    })
    console.log('fork ms', performance.now() - begun)
    await continueReleased(child, host.deadline)
    console.log('released', performance.now() - begun)
    expect(await host.sh(child, 'cat /root/file /run/memory; hostname')).toContain('prepared\nmemory')
    console.log('ran', performance.now() - begun)
    await child.kill(host.deadline)
    await zygote.end(host.deadline)
  })
})
