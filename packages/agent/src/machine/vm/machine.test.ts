import { describe, expect, it } from 'vitest'
import { earlierMachineFingerprint } from './earlier-fingerprint.ts'
import { fingerprint, isSameCounter, machineFingerprint, stateOptions } from './machine-fingerprint.ts'
import {
  BOOT_DISK,
  bootArguments,
  isHostCpu,
  machineArguments,
  restoreArguments,
  TAP_FD,
  type Machine,
} from './machine.ts'

const machine: Machine = { accelerator: 'tcg', tscKhz: 2_600_000, vcpus: 1, memoryMib: 512, network: 'tap' }

describe('the command line', () => {
  it('differs between bake and restore only in how memory is mapped and where the guest starts', () => {
    const bake = machineArguments(machine, { path: 'memory', isShared: true }, BOOT_DISK)
    const restored = machineArguments(machine, { path: 'memory', isShared: false }, BOOT_DISK)
    expect(bake.length).toBe(restored.length)
    expect(bake.filter((argument, index) => argument !== restored[index])).toEqual([
      'memory-backend-file,id=ram,size=512M,mem-path=memory,share=on',
    ])
    expect(restoreArguments()).not.toContain('-kernel')
  })

  it('keeps a comma in a path from ending the option', () => {
    const path = 'a,b/memory'
    expect(machineArguments(machine, { path, isShared: false }, BOOT_DISK).join(' ')).toContain(
      'mem-path=a,,b/memory,share=off',
    )
  })

  it('flushes only a disk for which that is asked', () => {
    const [layer] = BOOT_DISK
    const memory = { path: 'memory', isShared: false }
    const nodes = (isFlushed: boolean) =>
      machineArguments(machine, memory, layer === undefined ? [] : [{ ...layer, isFlushed }]).filter((argument) =>
        argument.startsWith('driver=qcow2'),
      )
    expect([nodes(false), nodes(true)]).toEqual([
      [expect.stringContaining('cache.no-flush=on')],
      [expect.not.stringContaining('no-flush')],
    ])
  })

  it('names vhost-net if there is a descriptor of it, and the guest’s devices are the same either way', () => {
    const memory = { path: 'memory', isShared: false }
    const lines = [7, null].map((fd) => machineArguments(machine, memory, BOOT_DISK, [], 'paths', fd))
    expect(lines).toEqual([
      expect.arrayContaining([`tap,id=net,fd=${TAP_FD},vhost=on,vhostfd=7`]),
      expect.arrayContaining([`tap,id=net,fd=${TAP_FD}`]),
    ])
    const [withVhost, without] = lines.map(stateOptions)
    expect(withVhost).toEqual(without)
  })

  it('sets the counter frequency of a guest under TCG only', () => {
    expect(bootArguments(machine, 'k', 'i').at(-1)).toContain('tsc_early_khz=2600000 tsc=reliable')
    expect(bootArguments({ ...machine, accelerator: 'kvm' }, 'k', 'i').at(-1)).not.toContain('tsc')
  })

  it('takes random addresses from programs only where that was asked for', () => {
    expect(
      bootArguments({ ...machine, hasFixedAddresses: true }, 'k', 'i')
        .at(-1)
        ?.split(' '),
    ).toContain('norandmaps')
    expect(bootArguments(machine, 'k', 'i').at(-1)).not.toContain('norandmaps')
  })
})

function under(cpu: string): Machine {
  return { ...machine, accelerator: 'kvm', kvm: { cpu, kernelParameters: ['noxsave'], hasVhostNet: false } }
}

describe('the CPU under KVM', () => {
  it('is the model of the probe, and the kernel gets its parameters for it', () => {
    const args = machineArguments(under('EPYC-v1'), { path: 'memory', isShared: false }, BOOT_DISK)
    expect(args[args.indexOf('-cpu') + 1]).toBe('EPYC-v1')
    expect(bootArguments(under('EPYC-v1'), 'k', 'i').at(-1)).toMatch(/ noxsave$/)
  })

  it.each([
    ['host', true],
    ['host,migratable=on', true],
    ['max', true],
    ['Broadwell-v2', false],
    ['qemu64,vendor=GenuineIntel', false],
  ])('%s is the CPU of this host: %s', (cpu, isHosts) => {
    expect(isHostCpu(under(cpu))).toBe(isHosts)
  })
})

describe('the fingerprint', () => {
  const inputs = {
    qemu: { path: '/usr/bin/qemu-system-x86_64', version: '7.2.22', build: '1' },
    machine,
    imageVersion: 'a',
    bootHash: 'b',
  }

  it('stays the same for the same inputs', async () => {
    expect(await fingerprint({ ...inputs })).toBe(await fingerprint(inputs))
  })

  it.each([
    ['QEMU', { qemu: { ...inputs.qemu, version: '8.0.0' } }],
    ['the build of QEMU', { qemu: { ...inputs.qemu, build: '2' } }],
    ['memory', { machine: { ...machine, memoryMib: 256 } }],
    ['vCPUs', { machine: { ...machine, vcpus: 2 } }],
    ['the accelerator', { machine: { ...machine, accelerator: 'kvm' as const } }],
    ['the CPU model', { machine: under('EPYC-v1') }],
    ['the kind of its network', { machine: { ...machine, network: 'user' as const } }],
    ['the counter', { machine: { ...machine, tscKhz: 1 } }],
    ['the image', { imageVersion: 'c' }],
    ['the kernel', { bootHash: 'c' }],
  ])('changes with %s', async (_what, change) => {
    expect(await fingerprint({ ...inputs, ...change })).not.toBe(await fingerprint(inputs))
  })
})

describe('the fingerprint of a device state', () => {
  const inputs = { qemu: { path: '/usr/bin/qemu-system-x86_64', version: '7.2.22', build: '1' }, machine }

  it.each([
    ['a fix of QEMU', { qemu: { ...inputs.qemu, version: '7.2.23', build: '2' } }],
    ['vhost-net', { machine: { ...machine, kvm: { cpu: '', kernelParameters: [], hasVhostNet: true } } }],
    ['fixed addresses of programs', { machine: { ...machine, hasFixedAddresses: true } }],
    ['another measurement of the counter', { machine: { ...machine, tscKhz: machine.tscKhz + 1000 } }],
  ])('stays the same with %s', async (_what, change) => {
    expect(await machineFingerprint({ ...inputs, ...change })).toBe(await machineFingerprint(inputs))
  })

  it.each([
    ['a new series of QEMU', { qemu: { ...inputs.qemu, version: '8.0.0' } }],
    ['memory', { machine: { ...machine, memoryMib: 256 } }],
    ['vCPUs', { machine: { ...machine, vcpus: 2 } }],
    ['the accelerator', { machine: { ...machine, accelerator: 'kvm' as const } }],
    ['the kind of its network', { machine: { ...machine, network: 'user' as const } }],
  ])('changes with %s', async (_what, change) => {
    expect(await machineFingerprint({ ...inputs, ...change })).not.toBe(await machineFingerprint(inputs))
  })

  it('is that of checkpoints which agents made before', async () => {
    // Written by the agent of commit de526f32 for this machine.
    expect(await machineFingerprint(inputs)).toBe('0a5001c22b7ca3667ddb59b03472e79b')
  })

  it('is known in its earlier form', async () => {
    // Written by the agent of commit 136b9a6 for this machine.
    const earlier = { ...inputs, machine: { ...machine, vcpus: 1, memoryMib: 512, network: 'tap' as const } }
    expect(await earlierMachineFingerprint(earlier)).toBe('0c57692413b8c351f2030d4c987e7ccf')
    const fixed = { ...earlier, machine: { ...earlier.machine, hasFixedAddresses: true } }
    expect(await earlierMachineFingerprint(fixed)).toBe('0c57692413b8c351f2030d4c987e7ccf')
  })

  it('does not contain the counter, which is compared with a tolerance', () => {
    expect(isSameCounter(2_600_000, 2_601_300)).toBe(true)
    expect(isSameCounter(2_600_000, 2_626_000)).toBe(false)
  })
})
