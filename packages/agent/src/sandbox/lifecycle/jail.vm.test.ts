import { mkdir, readFile, readlink, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { runProgram } from '../../machine/host/run-program.ts'
import { AgentProcess } from '../../test/agent-process.ts'
import { linkImages } from '../../test/link-images.ts'

const IMAGES = process.env['OFFSHOOT_IMAGES_DIR'] ?? ''
const SOCKETS = ['qmp.sock', 'guest.sock']

const nameOf = (id: string) => `sbx-${id.slice(0, 8)}`

describe.runIf(process.getuid?.() === 0)('the jail of VMs', () => {
  let agent: AgentProcess
  /** Images without the launcher: an agent with these starts VMs without jails, as earlier versions did. */
  let withoutJail: string

  beforeAll(async () => {
    agent = await AgentProcess.create()
    withoutJail = join(agent.folder, 'images')
    await mkdir(withoutJail)
    await linkImages(IMAGES, withoutJail, 'jail')
  })
  afterEach(() => agent.reset())
  afterAll(() => agent.destroy())

  const folderOf = (id: string) => join(agent.dataDir, 'sandboxes', id, 'vm')

  async function isolation(): Promise<string> {
    const response = await fetch(`${agent.url}/healthz`)
    return ((await response.json()) as { checks: { isolation: string } }).checks.isolation
  }

  /** Runs a command as the user of a VM, as an attacker who broke out of the guest would. */
  async function asUserOf(id: string, command: string): Promise<string> {
    const { uid } = await stat(folderOf(id))
    const user = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups']
    return runProgram('setpriv', [...user, 'sh', '-c', command], Deadline.after(20_000, command), folderOf(id))
  }

  /** Puts links to the sockets of another sandbox where an earlier version had the first one's sockets. */
  async function divert(id: string, to: string): Promise<void> {
    for (const name of SOCKETS) await asUserOf(id, `rm -f ${name} && ln -s ${folderOf(to)}/${name} ${name}`)
  }

  const hostname = async (id: string) => (await agent.exec(id, { cmd: 'hostname' })).body.stdout?.trim()
  const statusOf = async (id: string) => (await agent.list()).sandboxes.find((sandbox) => sandbox.id === id)?.status

  it('confines every VM, whose user cannot divert the agent with links in its folder', async () => {
    await agent.start()
    expect(await isolation()).toMatch(/^jail(-nolimits)?$/)
    const [victim, broken] = [(await agent.created()).id, (await agent.created()).id]
    const vms = await agent.vms()
    expect(vms).toHaveLength(2)
    for (const { process: vm, launcher } of vms) {
      expect(launcher).not.toBeNull()
      expect(await readlink(`/proc/${vm.pid}/ns/net`)).not.toBe(await readlink(`/proc/${agent.pid}/ns/net`))
      expect(await readFile(`/proc/${vm.pid}/mountinfo`, 'utf8')).not.toContain('/proc ')
    }
    await divert(broken, victim)
    await agent.stop('SIGKILL')
    await agent.start()
    expect(await hostname(broken)).toBe(nameOf(broken))
    expect(await hostname(victim)).toBe(nameOf(victim))
  })

  it('is not required of adopted VMs without one, whose sockets must not be links', { tags: ['long'] }, async () => {
    await agent.configure({ images_dir: withoutJail })
    await agent.start()
    expect(await isolation()).toMatch(/^user(-nolimits)?$/)
    const [victim, broken] = [(await agent.created()).id, (await agent.created()).id]
    await agent.stop('SIGTERM')
    await divert(broken, victim)
    await agent.configure({ images_dir: IMAGES })
    await agent.start()
    expect(await isolation()).toMatch(/^jail(-nolimits)?$/)
    expect(await hostname(victim)).toBe(nameOf(victim))
    expect(await statusOf(broken)).toBe('failed')
    expect(agent.log).toContain('is no socket of its own')
    const { id } = await agent.created()
    expect(await hostname(id)).toBe(nameOf(id))
    expect((await agent.delete(victim)).status).toBe(204)
    await rm(withoutJail, { recursive: true, force: true })
  })
})
