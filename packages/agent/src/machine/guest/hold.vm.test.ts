import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { GuestLink } from '@offshoot/guest-link/link'
import { Deadline } from '@offshoot/kit/deadline'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { AgentProcess } from '../../test/agent-process.ts'
import { usedQemu } from '../../test/other-qemu.ts'
import { translatesByAddress } from '../host/qemu.ts'
import { hasChannel, ownSocket } from '../vm/channel.ts'
import { runCommand } from './command.ts'
import { GUEST_SOCKET } from '../vm/machine.ts'

const HELD_MS = 300
const HOLDS = 5

let agent: AgentProcess
let folder: string
let link: GuestLink

const soon = (what: string) => Deadline.after(30_000, what)
const sockets = (line: string) => `cat /proc/net/tcp /proc/net/tcp6 | grep ${line}`
const present = () => ({ time: new Date(), entropy: randomBytes(64) })

async function shell(script: string): Promise<string> {
  const options = { stdin: undefined, maxBytes: 1024 * 1024, stop: soon(script).signal }
  const { stdout } = await runCommand(link, { argv: ['sh', '-c', script] }, options)
  return stdout.bytes.toString('utf8').trim()
}

beforeAll(async () => {
  agent = await AgentProcess.create()
  await agent.start()
  folder = join(agent.dataDir, 'sandboxes', (await agent.created()).id, 'vm')
  // The VM outlives the agent: from here on the test drives it.
  await agent.stop()
  link = await GuestLink.connect(await ownSocket(folder, GUEST_SOCKET, await hasChannel(folder)), soon('guest'))
})
afterAll(async () => {
  link.close()
  await agent.destroy()
})

it('runs no process while it is held', async () => {
  // A process that never sleeps, and writes the uptime whenever it runs.
  await link.keep(
    { argv: ['sh', '-c', 'while read up idle < /proc/uptime; do echo $up; done > /run/ticks'] },
    { id: 'ticker' },
    soon('ticker'),
  )
  await shell('until [ -s /run/ticks ]; do :; done')
  for (let i = 0; i < HOLDS; i++) {
    await link.hold(soon('hold'))
    await wait(HELD_MS)
    await link.release(present(), soon('release'))
    await shell('lines=$(wc -l < /run/ticks); while [ $(wc -l < /run/ticks) = $lines ]; do :; done')
  }
  await link.forget('ticker', soon('end of the ticker'))
  const ticks = (await shell('uniq /run/ticks')).split('\n').map(Number)
  const gaps = ticks.slice(1).map((tick, i) => tick - (ticks[i] ?? 0))
  // /proc/uptime has a resolution of 10 ms.
  expect(gaps.filter((seconds) => seconds >= HELD_MS / 1000 - 0.02).length).toBeGreaterThanOrEqual(HOLDS)
})

it('starts processes that are not real-time', async () => {
  // man 5 proc: the 19th field is the nice value, the 41st the policy; the name in the second holds no space here.
  expect(await shell('cut -d " " -f 19,41 /proc/self/stat')).toBe('0 0')
  expect(await shell('cut -d " " -f 41 /proc/1/stat')).toBe('1')
})

it('stays held when another agent connects, and gets a new identity by a refresh', async () => {
  const before = await shell('cat /sys/class/net/eth0/address; ip route; ip address show eth0 | grep inet')
  await link.hold(soon('hold'))
  link.close()
  link = await GuestLink.connect(await ownSocket(folder, GUEST_SOCKET, await hasChannel(folder)), soon('guest'))
  await expect(link.run({ argv: ['true'] })).rejects.toThrow('held')
  const mac = '02:00:00:00:00:17'
  const identity = { hostname: 'other', machineId: 'b'.repeat(32), env: 'keep' as const, mac }
  await link.refresh({ ...present(), ...identity }, soon('refresh')).settled
  expect(await shell('hostname; cat /etc/machine-id')).toBe(`other\n${'b'.repeat(32)}`)
  const after = await shell('cat /sys/class/net/eth0/address; ip route; ip address show eth0 | grep inet')
  expect(after.split('\n')).toEqual([mac, ...before.split('\n').slice(1)])
})

it('ends connections to other machines, and keeps listening sockets', async () => {
  // No host has 10.0.2.77: the connection stays in SYN_SENT for seconds. /proc/net/tcp shows hexadecimal numbers.
  const outgoing = '4D02000A:0009'
  const listening = ':1B5F'
  await link.keep({ argv: ['sh', '-c', 'nc -l -p 7007 & exec nc 10.0.2.77 9'] }, { id: 'out' }, soon('out'))
  await shell(`until ${sockets(outgoing)} && ${sockets(listening)}; do :; done`)
  await link.refresh({ ...present(), hostname: 'x', machineId: 'c'.repeat(32), env: 'keep' }, soon('refresh')).settled
  expect(await shell(sockets(outgoing))).toBe('')
  expect(await shell(sockets(listening))).not.toBe('')
  await link.forget('out', soon('out'))
})

it('leaves no kernel warning on the console', async () => {
  const console = await readFile(join(folder, 'console.log'), 'utf8')
  expect(console).not.toMatch(/stall|lockup|throttl|hung|BUG|WARNING/i)
})

it('starts a program at the same addresses each time if QEMU would translate it again elsewhere', async () => {
  const stacks = new Set<string>()
  for (let i = 0; i < 4; i++) stacks.add(await shell("grep '[[]stack[]]' /proc/self/maps"))
  const { version } = await usedQemu()
  expect(stacks.size === 1).toBe(translatesByAddress(version))
})
