import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { identifyProcess, isAlive } from '@offshoot/kit/process-identity'
import { describe, expect, it } from 'vitest'
import { confine, imprison } from './confinement.ts'

const line = { program: 'qemu', args: ['-S'] }

describe('the user of a VM', () => {
  it('is in no group of the host', () => {
    const { args } = confine(line, { uid: 200_007 })
    expect(args).toContain('--clear-groups')
    expect(args.filter((argument) => argument.startsWith('--groups'))).toEqual([])
  })

  it("is only in the group of KVM's device, if VMs need that", () => {
    const { args } = confine(line, { uid: 200_007, kvmGroup: 104 })
    expect(args).toContain('--groups=104')
    expect(args).not.toContain('--clear-groups')
    expect(args).toEqual(expect.arrayContaining(['--reuid=200007', '--regid=200007', '--bounding-set=-all']))
  })

  it("keeps the agent's groups if the agent cannot change them", () => {
    const { args } = confine(line, { uid: null, kvmGroup: 104 })
    expect(args).toEqual(['--no-new-privs', '--inh-caps=-all', 'qemu', '-S'])
  })
})

describe('a QEMU in a jail', () => {
  const jail = { launcher: 'jail', root: '/jails/1', tools: { e2fsck: 'e2fsck', resize2fs: 'resize2fs' } }
  const place = { jail, confinement: { uid: 200_007 }, folder: '/vms/1/vm', bake: null, tap: null, reportFd: 9 }

  it.each([
    ['tcg', ['--batch', '12']],
    ['kvm', []],
  ] as const)('has long turns only if it emulates its guest: %s', (accelerator, turns) => {
    const { args } = imprison(line, { ...place, accelerator })
    expect(args.slice(-3)).toEqual(['--', 'qemu', '-S'])
    expect(args.filter((arg, at) => [arg, args[at - 1]].includes('--batch'))).toEqual(turns)
  })
})

const isRoot = process.getuid?.() === 0

/** A process that starts the program in its arguments, prints the pid, and waits. */
const PARENT = `
  const { spawn } = require('node:child_process')
  const [program, ...args] = process.argv.slice(1)
  console.log(spawn(program, args, { detached: true, stdio: 'ignore' }).pid)
  setInterval(() => {}, 1000)
`

describe.each([
  ['with a user of its own', isRoot ? 199_001 : null],
  ["with the agent's user", null],
])('a confined process %s', (_what, uid) => {
  it('dies with the agent if asked', async () => {
    const { program, args } = confine({ program: 'sleep', args: ['600'] }, { uid, diesWithAgent: true })
    const agent = spawn(process.execPath, ['-e', PARENT, program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [pid] = (await once(createInterface({ input: agent.stdout }), 'line')) as [string]
    const child = await identifyProcess(Number(pid))
    if (child === null) throw new Error('the confined process has ended already')
    // Waits for the final program, because setpriv sets the signal last.
    await expect.poll(() => nameOf(child.pid), { timeout: 30_000 }).toBe('sleep')
    agent.kill('SIGKILL')
    await expect.poll(() => isAlive(child), { timeout: 30_000 }).toBe(false)
  })
})

async function nameOf(pid: number): Promise<string> {
  return (await readFile(`/proc/${pid}/comm`, 'utf8')).trim()
}
