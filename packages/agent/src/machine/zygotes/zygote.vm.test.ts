import { Deadline } from '@offshoot/kit/deadline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { policiesOf } from '../../test/thread-stats.ts'
import { VmHost } from '../../test/vm-host.ts'
import { continueReleased, releaseGuest } from '../guest/hold.ts'
import { Zygote, type ZygoteOptions } from './zygote.ts'

let host: VmHost
let zygote: Zygote
beforeAll(async () => {
  host = await VmHost.open()
  const options: ZygoteOptions = { ...(await host.restoreOptions()), layers: host.layers, greet: releaseGuest }
  const prepare = async (vm: Zygote['vm']) => void (await host.sh(vm, 'echo prepared > /root/file'))
  zygote = await Zygote.start(options, prepare, host.deadline)
})
afterAll(async () => {
  await zygote.end(host.deadline)
  await host.close()
})

describe('a zygote', () => {
  it('makes children with its memory and its disk, each with an active layer of its own', async () => {
    const children = [await fork(), await fork()]
    for (const [index, child] of children.entries()) {
      await continueReleased(child, host.deadline)
      expect(await host.sh(child, `cat /root/file; echo ${index} > /root/own; sync; cat /root/own`)).toBe(
        `prepared\n${index}`,
      )
    }
    const chains = children.map(({ disk }) => disk)
    expect(chains[0]?.layers).toEqual(zygote.layers)
    expect(chains[1]?.layers).toEqual(zygote.layers)
    expect(chains[0]?.active).not.toBe(chains[1]?.active)
    for (const child of children) await child.kill(host.deadline)
  })

  it('makes children that interrupt no other process when they wake', async () => {
    const child = await fork()
    await continueReleased(child, host.deadline)
    await host.sh(child, 'true')
    const policies = await policiesOf(child.process.pid)
    expect(policies.length).toBeGreaterThan(2)
    expect(new Set(policies)).toEqual(new Set(['SCHED_BATCH']))
    await child.kill(host.deadline)
  })

  it('makes none while a connection is open that a child would share, and then again', async () => {
    await zygote.vm.qmp.execute('cont', {}, host.deadline)
    await zygote.vm.link(host.deadline)
    await zygote.vm.qmp.execute('stop', {}, host.deadline)
    // It learns of the connection when it fails to make one, and then waits for its end.
    await expect(fork()).rejects.toThrow('a descriptor has no place in the child')
    await expect(fork(Deadline.after(500, 'a child'))).rejects.toThrow('deadline passed: a child')
    await zygote.vm.closeLink()
    await (await fork()).kill(host.deadline)
    expect(zygote.vm.hasEnded).toBe(false)
  })
})

async function fork(deadline = host.deadline): Promise<Zygote['vm']> {
  return zygote.fork(await host.restoreOptions(), deadline)
}
