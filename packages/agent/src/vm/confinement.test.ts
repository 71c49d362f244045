import { describe, expect, it } from 'vitest'
import { confine } from './confinement.ts'

const line = { program: 'qemu', args: ['-S'] }

describe('the user of a VM', () => {
  it('is in no group of the host', () => {
    const { args } = confine(line, { uid: 200_007 })
    expect(args).toContain('--clear-groups')
    expect(args.filter((argument) => argument.startsWith('--groups'))).toEqual([])
  })

  it("is in the group of KVM's device where VMs need that, and in no other", () => {
    const { args } = confine(line, { uid: 200_007, kvmGroup: 104 })
    expect(args).toContain('--groups=104')
    expect(args).not.toContain('--clear-groups')
    expect(args).toEqual(expect.arrayContaining(['--reuid=200007', '--regid=200007', '--bounding-set=-all']))
  })

  it("keeps the agent's groups where the agent cannot change them", () => {
    const { args } = confine(line, { uid: null, kvmGroup: 104 })
    expect(args).toEqual(['--no-new-privs', '--inh-caps=-all', 'qemu', '-S'])
  })
})
