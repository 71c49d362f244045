/** @module-tag long */
import { spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { identifyProcess } from '@offshoot/kit/process-identity'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../test/agent-process.ts'
import { connected, get, PUBLIC, TestWorld } from '../../test/test-world.ts'

/** Sandboxes to create and delete. Every tenth round contains a kill -9. */
const ROUNDS = Number(process.env['OFFSHOOT_NETWORK_ROUNDS'] ?? '10')
/** Sandboxes created at the same time. */
const BESIDE = 5

let world: TestWorld
beforeAll(async () => {
  world = await TestWorld.create()
})
afterAll(() => world.close())

const taps = async () => (await world.onHost('ip', '-br', 'link')).split('\n').filter((line) => line.startsWith('ofs'))
const known = async () =>
  (await world.onHost('conntrack', '-L')).split('\n').filter((line) => line.includes('src=10.213.'))
const forwards = async () => (await world.onHost('cat', '/proc/sys/net/ipv4/conf/up0/forwarding')).trim()

describe('creates and deletes, some interrupted by a kill -9', () => {
  it('leave no TAP, rule, address or tracked connection', async () => {
    for (let round = 0; round < ROUNDS; round += BESIDE) {
      await world.agent.start()
      const made = await Promise.all(Array.from({ length: BESIDE }, () => world.agent.created()))
      expect(new Set(made.map(({ guest_ip: ip }) => ip)).size).toBe(BESIDE)
      await Promise.all(made.map(({ id }) => world.agent.sh(id, get(PUBLIC, '/'))))
      expect((await known()).length).toBeGreaterThan(0)
      const [first, ...others] = made.map(({ id }) => world.agent.delete(id).catch(() => undefined))
      await first
      if (round % 10 === 0) await world.agent.stop('SIGKILL')
      await Promise.all(others)
      if (round % 10 === 0) await world.agent.start()
      for (const { id } of (await world.agent.list()).sandboxes) await world.agent.delete(id)
      await eventually('no tracked connection', async () => (await known()).length === 0)
      await world.agent.stop(round % 2 === 0 ? 'SIGKILL' : 'SIGTERM')
    }
    expect(await forwards()).toBe('1')
    expect(await world.agent.run('end-all.ts')).toMatchObject({ exitCode: 0 })
    expect(await taps()).toEqual([])
    expect((await world.onHost('nft', 'list', 'ruleset')).trim()).toBe('')
    expect(await world.onHost('ip', '-4', 'route')).not.toContain('10.213.')
    expect(await known()).toEqual([])
  })
})

describe('the end of a sandbox', () => {
  it('changes packet filter rules only if the guest sent a packet or had no way out', async () => {
    await world.agent.start()
    const monitor = spawn('ip', ['netns', 'exec', world.host, 'nft', 'monitor'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let changes = ''
    monitor.stdout.setEncoding('utf8').on('data', (text: string) => (changes += text))
    try {
      await eventually('the monitor', async () => {
        await world.onHost('nft', 'add table inet probe; delete table inet probe')
        return changes.includes('delete table inet probe')
      })
      const tapOf = async (ip: string | null) =>
        new RegExp(`"(\\w+)" \\. [\\w:]+ \\. ${ip}\\b`).exec(await world.onHost('nft', 'list', 'sets', 'inet'))?.[1] ??
        ''
      const renewed = (tap: string) => new RegExp(`delete element inet \\w+ refused \\{ "${tap}"`).test(changes)
      const [silent, heard] = [await world.agent.created(), await world.agent.created()]
      const [silentTap, heardTap] = [await tapOf(silent.guest_ip), await tapOf(heard.guest_ip)]
      await world.agent.sh(heard.id, get(PUBLIC, '/'))
      await world.agent.delete(silent.id)
      await world.agent.delete(heard.id)
      await eventually('the rules of the second', async () => renewed(heardTap))
      expect(renewed(silentTap)).toBe(false)
      expect(changes).not.toContain('internet {')
      expect(await known()).toEqual([])
    } finally {
      monitor.kill('SIGKILL')
      await world.agent.stop()
    }
  })
})

describe('a hibernated sandbox', () => {
  it('wakes at another address when another agent got its slot meanwhile', async () => {
    await world.agent.start()
    const { id, guest_ip: ip } = await world.agent.created()
    await world.agent.sh(id, connected())
    expect((await world.agent.act(id, 'hibernate')).status).toBe(200)
    await world.agent.stop('SIGTERM')
    const [claim = ''] = (
      await world.onHost('sh', '-c', `grep -l '${world.agent.dataDir}"' /run/offshoot/slots/*`)
    ).split('\n')
    const content = JSON.parse(await readFile(claim, 'utf8')) as object
    await writeFile(
      claim,
      JSON.stringify({ ...content, data_dir: '/proc/self', process: await identifyProcess(process.pid) }),
    )
    try {
      await world.agent.start()
      const { body } = await world.agent.act(id, 'wake')
      expect(body.guest_ip).not.toBe(ip)
      expect(await world.agent.sh(id, 'ip -o -4 addr show eth0')).toContain(`inet ${body.guest_ip}/30`)
      expect(await world.agent.sh(id, get(PUBLIC, '/moved'))).toContain('/moved')
      await eventually('the end of a connection', async () => (await world.agent.sh(id, 'cat /tmp/out')) === 'ended')
      await world.agent.delete(id)
    } finally {
      await writeFile(claim, JSON.stringify(content))
    }
  })
})

describe('a host that no longer provides TAPs', () => {
  it('makes the agent exit, so that its supervisor retries', async () => {
    await world.agent.stop()
    await world.agent.start()
    const { id, guest_ip: ip } = await world.agent.created()
    expect((await world.agent.act(id, 'hibernate')).status).toBe(200)
    await world.agent.stop('SIGTERM')
    const bare = await world.beside(['setpriv', '--bounding-set=-net_admin'])
    const { exitCode, output } = await bare.run('main.ts')
    expect(exitCode).toBe(1)
    expect(output).toMatch(/the sandboxes here had a network, and there is none now: [^]*not permitted/)
    await world.agent.start()
    expect((await world.agent.act(id, 'wake')).body).toMatchObject({ status: 'running', guest_ip: ip })
    expect(await world.agent.sh(id, get(PUBLIC, '/again'))).toContain('/again')
    await world.agent.delete(id)
  })
})

describe('a host that provides no TAPs', () => {
  it('runs guests without egress, and reports it', async () => {
    const bare = await TestWorld.create({}, ['setpriv', '--bounding-set=-net_admin'])
    try {
      await bare.agent.start()
      const { id } = await bare.agent.created()
      expect(await bare.agent.sh(id, `nc -w 2 ${PUBLIC} 80 </dev/null 2>/dev/null && echo through; true`)).toBe('')
      expect(await bare.packets()).toEqual(new Map())
      const { body } = await bare.agent.call<{ checks: { network: string } }>('GET', '/healthz')
      expect(body.checks.network).toMatch(/^none: /)
      expect(bare.agent.log).toContain('guests have no network')
      expect(bare.agent.log).not.toContain('trying again')
      // Sandboxes that never had a network do not need one after a restart.
      await bare.agent.stop('SIGKILL')
      await bare.agent.start()
      expect((await bare.agent.list()).sandboxes).toMatchObject([{ id, status: 'running' }])
    } finally {
      await bare.close()
    }
  })
})
