import { expect, it } from 'vitest'
import { type CommandLine, operatorEnv } from './cli.ts'
import { joinWithoutAgent } from './join-without-agent.ts'
import type { Offshoot } from './offshoot.ts'

interface World {
  readonly cli: CommandLine
  /** It has one sandbox. */
  readonly offshoot: Offshoot
}

/** The commands of hosts, for operators. */
export function cliHostCases(world: () => World): void {
  it('shows its hosts to an operator', async () => {
    const { cli, offshoot } = world()
    expect(await cli.run(['host', 'ls'])).toMatchObject({ code: 4 })
    const env = operatorEnv(offshoot)
    const shown = await cli.ok(['host', 'ls'], { env })
    expect(shown).toMatch(/^[0-9a-f-]{36} +ready +\S+ +(?:tcg|kvm) +\d+ +.+iB of .+iB +.+iB of .+iB +1 +0 +0 *$/m)
    const [host] = await cli.json(['host', 'ls'], { env })
    expect(host).toMatchObject({ state: 'ready', sandboxes: 1, capacity: { cpus: expect.any(Number) } })
  })

  it('labels a host and puts it in a zone', async () => {
    const { cli, offshoot } = world()
    expect(await cli.run(['host', 'label', 'self', 'disk=nvme'])).toMatchObject({ code: 4 })
    const env = operatorEnv(offshoot)
    await cli.ok(['host', 'label', 'self', 'disk=nvme', 'gpu=none'], { env })
    const changed = await cli.ok(['host', 'label', 'self', 'gpu-', 'line=b'], { env })
    expect(changed).toMatch(/^labels +disk=nvme line=b$/m)
    expect(await cli.ok(['host', 'zone', 'self', 'rack-1'], { env })).toMatch(/^zone +rack-1$/m)
    const fitting = ['host', 'ls', '--label', 'disk=nvme', '--label', 'line=b', '--zone', 'rack-1']
    expect(await cli.ok(fitting, { env })).toMatch(/ rack-1 +disk=nvme line=b *$/m)
    expect(await cli.json(['host', 'ls', '--label', 'disk=ssd'], { env })).toEqual([])
    expect((await cli.run(['host', 'label', 'self', 'Disk=x'], { env })).stderr).toContain('labels keys must be')
    expect(await cli.json(['host', 'zone', 'self', '-'], { env })).toMatchObject({ zone: null })
    await cli.ok(['host', 'label', 'self', 'disk-', 'line-'], { env })
  })

  it('keeps new sandboxes away from a host while it is cordoned', async () => {
    const { cli, offshoot } = world()
    expect(await cli.run(['host', 'cordon', 'self'])).toMatchObject({ code: 4 })
    const env = operatorEnv(offshoot)
    expect(await cli.ok(['host', 'cordon', 'self'], { env })).toMatch(/^state +cordoned$/m)
    const refused = await cli.run(['sandbox', 'create', '--template', 'minimal'])
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain('no available compute node')
    expect(await cli.ok(['host', 'show', 'self'], { env })).toMatch(/^cordoned +20\d\d-/m)
    expect(await cli.json(['host', 'uncordon', 'self'], { env })).toMatchObject({ state: 'ready', cordoned_at: null })
    expect(await cli.run(['host', 'show', 'nothing'], { env })).toMatchObject({ code: 3 })
    // Removing needs an agreement, and a host that has joined.
    expect(await cli.run(['host', 'rm', 'nothing'], { env })).toMatchObject({ code: 2, stdout: '' })
    expect(await cli.run(['host', 'rm', 'nothing', '--yes'], { env })).toMatchObject({ code: 3, stdout: '' })
  })

  it('shows a host whose agent has not answered yet, which is not cordoned, and removes it', async () => {
    const { cli, offshoot } = world()
    const env = operatorEnv(offshoot)
    const id = await joinWithoutAgent(offshoot)
    expect(await cli.ok(['host', 'ls'], { env })).toMatch(new RegExp(`^${id} +joining +0 +0 +0 *$`, 'm'))
    const shown = await cli.ok(['host', 'show', id], { env })
    expect(shown.split('\n').map((line) => line.split(' ', 1)[0])).toEqual(
      'id,state,address,sandboxes,instances,databases,joined'.split(','),
    )
    const refused = await cli.run(['host', 'cordon', id], { env })
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain('the host is joining')
    expect(await cli.ok(['host', 'rm', id, '--yes', '-q'], { env })).toBe(id)
    expect(await cli.json(['host', 'ls'], { env })).toHaveLength(1)
  })

  it('drains a host, and says what stays there', async () => {
    const { cli, offshoot } = world()
    expect(await cli.run(['host', 'drain', 'self'])).toMatchObject({ code: 4 })
    const env = operatorEnv(offshoot)
    const drained = await cli.run(['host', 'drain', 'self', '--wait'], { env })
    expect(drained.code).toBe(1)
    expect(drained.stdout).toMatch(/^state +cordoned$/m)
    expect(drained.stdout).toMatch(/^moves +0 moved, 0 left, 1 failed$/m)
    expect(drained.stdout).toMatch(/^sandbox +\S{36} +\S{36} +no other host can take it/m)
    expect(await cli.json(['host', 'uncordon', 'self'], { env })).toMatchObject({ state: 'ready', drain: null })
  })
}
