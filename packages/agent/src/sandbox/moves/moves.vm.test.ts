import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type AgentLeave, BAKE_MISSING } from '@offshoot/contract/agent-move'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentProcess, eventually } from '../../test/agent-process.ts'
import { arrive, exported, leave, move, settle, withBake, withHeader } from '../../test/moving.ts'

let [home, away]: AgentProcess[] = []

beforeAll(async () => {
  home = await AgentProcess.create()
  away = await AgentProcess.create()
  await Promise.all([home.start(), away.start()])
})
afterAll(async () => {
  await home?.destroy()
  await away?.destroy()
})

function agents(): { readonly home: AgentProcess; readonly away: AgentProcess } {
  if (home === undefined || away === undefined) throw new Error('the agents do not run')
  return { home, away }
}

/** A hibernated sandbox with a file, a file in memory, a background process and an environment variable. */
async function hibernated(on: AgentProcess): Promise<{ readonly id: string; readonly pid: string }> {
  const { id } = await on.created({ COLOUR: 'blue' })
  await on.sh(id, 'echo kept > /root/file; echo remembered > /run/memory; sync')
  const pid = await on.sh(id, 'sleep 100000 >/dev/null 2>&1 & echo $!')
  expect((await on.act(id, 'hibernate')).status).toBe(200)
  return { id, pid }
}

async function stateOf(on: AgentProcess, { id, pid }: { readonly id: string; readonly pid: string }) {
  return on.sh(id, `cat /root/file /run/memory 2>&1; tr '\\0' ' ' < /proc/${pid}/cmdline 2>&1; echo; echo $COLOUR`)
}

const WHOLE = 'kept\nremembered\nsleep 100000 \nblue'

async function remains({ dataDir }: AgentProcess): Promise<string[]> {
  const folders = ['arrivals', 'sandboxes', 'layers'].map((name) => readdir(join(dataDir, name)))
  return (await Promise.all(folders)).flat()
}

describe('a hibernated sandbox that moves to another host', () => {
  it('wakes there with its disk, memory, processes and events, and moves back without its bake', async () => {
    const { home, away } = agents()
    const sandbox = await hibernated(home)
    const { id } = sandbox
    const left = await leave(home, away, id)
    const taken = home.call('POST', `/v1/sandboxes/${id}/snapshots`, { body: { id: randomUUID() } })
    const moving = { status: 409, body: { error: 'sandbox is moving to another host' } }
    expect(await taken).toMatchObject(moving)
    for (const [what, body] of [
      ['wake'],
      ['hibernate'],
      ['exec', { cmd: 'true' }],
      ['leave', { move_id: randomUUID() }],
    ] as const)
      expect(await home.act(id, what, body)).toMatchObject(moving)
    expect(await home.act(id, 'leave', { move_id: left.moveId })).toMatchObject({ status: 200, body: left.leave })

    const before = await away.records()
    expect(await arrive(away, id, left.moveId, left.stream)).toMatchObject({
      status: 200,
      body: { id, status: 'hibernated', last_seq: 0, move: { id: left.moveId, direction: 'arriving' } },
    })
    expect(await away.act(id, 'wake')).toMatchObject(moving)
    expect((await arrive(away, id, left.moveId, left.stream)).status).toBe(200)
    expect(await arrive(away, id, randomUUID(), left.stream)).toMatchObject({ status: 409 })
    await away.stop('SIGKILL')
    await away.start()
    expect((await away.list()).sandboxes).toMatchObject([{ id, move: { direction: 'arriving' } }])
    expect(await settle(away, id, randomUUID(), 'gone')).toBe(409)
    for (let times = 0; times < 2; times++) {
      expect(await settle(away, id, left.moveId, 'stay')).toBe(204)
      expect(await settle(home, id, left.moveId, 'gone')).toBe(204)
    }
    expect(await settle(away, id, left.moveId, 'gone')).toBe(409)
    expect(await away.records()).toEqual(before)
    expect((await home.call('GET', `/v1/sandboxes/${id}`)).status).toBe(404)
    expect([await home.folders(), await home.events(id)]).toEqual([[], expect.not.arrayContaining(['sandbox.deleted'])])

    const woken = await away.act(id, 'wake')
    expect([woken.status, woken.body.cold]).toEqual([200, undefined])
    expect(await stateOf(away, sandbox)).toBe(WHOLE)
    const numbers = (await away.records()).filter(({ event }) => event.sandbox_id === id).map(({ number }) => number)
    expect(numbers[0]).toBe(3)

    const { children, snapshot } = await away.forked(id)
    const [child = { id: '' }] = children
    expect(await stateOf(away, { ...sandbox, id: child.id })).toBe(WHOLE)
    expect((await away.delete(child.id)).status).toBe(204)
    expect((await away.call('DELETE', `/v1/snapshots/${snapshot.id}`)).status).toBe(204)

    await away.sh(id, 'echo there > /run/away')
    expect((await away.act(id, 'hibernate')).status).toBe(200)
    const back = await move(away, home, id)
    expect(back.stream.length).toBeLessThan(left.stream.length)
    await home.stop('SIGKILL')
    await home.start()
    expect((await home.act(id, 'wake')).body.cold).toBeUndefined()
    expect([await stateOf(home, sandbox), await home.sh(id, 'cat /run/away')]).toEqual([WHOLE, 'there'])
    await eventually('the bake of nobody is removed', async () => {
      return (await readdir(join(away.dataDir, 'bakes', 'imported'))).length === 0
    })
    expect(await home.delete(id)).toMatchObject({ status: 204 })
  })

  it('wakes from a stored copy with a bake that was stored alone, not at home', { tags: ['long'] }, async () => {
    const { home, away } = agents()
    const sandbox = await hibernated(home)
    const { id } = sandbox
    const copy = randomUUID()
    const left = await home.act<AgentLeave>(id, 'leave', { move_id: copy })
    const own = await exported(home, id, copy, [left.body.bake.hash])
    const bake = await exported(home, id, copy, [], '&only=bake')
    expect(bake.length).toBeGreaterThan(own.length)
    await home.stop('SIGKILL')
    const moveId = randomUUID()
    expect(await arrive(away, id, moveId, own)).toMatchObject({ status: 400 })
    expect((await arrive(away, id, moveId, await withBake(own, bake, moveId))).status).toBe(200)
    expect(await settle(away, id, moveId, 'stay')).toBe(204)
    expect((await away.act(id, 'wake')).body.cold).toBeUndefined()
    expect(await stateOf(away, sandbox)).toBe(WHOLE)
    await home.start()
    expect((await home.act(id, 'wake')).status).toBe(409)
    expect(await settle(home, id, moveId, 'gone')).toBe(409)
    expect(await settle(home, id, copy, 'gone')).toBe(204)
    expect((await home.call('GET', `/v1/sandboxes/${id}`)).status).toBe(404)
    expect(await away.delete(id)).toMatchObject({ status: 204 })
  })

  it('is booted from its disk where its memory cannot be restored', { tags: ['long'] }, async () => {
    const { home, away } = agents()
    const sandbox = await hibernated(home)
    const { id } = sandbox
    const { moveId, stream } = await leave(home, away, id)
    const other = await withHeader(stream, (header) => ({
      ...header,
      memory: header.memory && { ...header.memory, machine: 'another' },
    }))
    expect((await arrive(away, id, moveId, other)).status).toBe(200)
    expect(await settle(away, id, moveId, 'stay')).toBe(204)
    expect(await settle(home, id, moveId, 'gone')).toBe(204)
    expect(await away.act(id, 'wake')).toMatchObject({ status: 200, body: { cold: true } })
    expect(await away.sh(id, 'cat /root/file; echo $COLOUR')).toBe('kept')
    expect(await away.delete(id)).toMatchObject({ status: 204 })
  })

  it('is booted from its disk if it was hibernated without its memory', { tags: ['long'] }, async () => {
    const { home, away } = agents()
    const { id } = await home.created()
    await home.sh(id, 'echo kept > /root/file')
    expect((await home.act(id, 'hibernate', { memory: false })).status).toBe(200)
    await move(home, away, id)
    expect(await away.act(id, 'wake')).toMatchObject({ status: 200, body: { cold: true } })
    expect(await away.sh(id, 'cat /root/file')).toBe('kept')
    expect(await away.delete(id)).toMatchObject({ status: 204 })
  })

  it('stays whole at home when its stream is damaged, refused or interrupted', { tags: ['long'] }, async () => {
    const { home, away } = agents()
    const sandbox = await hibernated(home)
    const { id } = sandbox
    const { moveId, stream, leave: left } = await leave(home, away, id)
    const half = stream.subarray(0, stream.length / 2)
    const flipped = Buffer.from(stream)
    flipped.writeUInt8(flipped.readUInt8(half.length) ^ 1, half.length)
    const foreign = await withHeader(stream, (header) => ({
      ...header,
      sandbox: { ...header.sandbox, workspace_id: randomUUID() },
    }))
    const changed = await withHeader(stream, (header) => ({
      ...header,
      files: header.files.map((file) => (file.name === 'layers/0' ? { ...file, sha256: '0'.repeat(64) } : file)),
    }))
    for (const damaged of [half, flipped, foreign, changed, Buffer.from('nothing')]) {
      expect(await arrive(away, id, moveId, damaged)).toMatchObject({ status: 400 })
    }
    const withoutBake = await exported(home, id, moveId, [left.bake.hash])
    expect(await arrive(away, id, moveId, withoutBake)).toMatchObject({ status: 409, body: { detail: BAKE_MISSING } })
    expect(await remains(away)).toEqual([])

    const interrupted = arrive(away, id, moveId, unfinished(half)).catch(() => null)
    await eventually(
      'a half import',
      async () => (await readdir(join(away.dataDir, 'arrivals', id)).catch(() => [])).length > 0,
    )
    expect(await arrive(away, id, moveId, stream)).toMatchObject({ status: 409 })
    await away.stop('SIGKILL')
    await interrupted
    await away.start()
    expect(await readdir(join(away.dataDir, 'arrivals'))).toEqual([])

    const cancelled = arrive(away, id, moveId, unfinished(half))
    await eventually(
      'a half import',
      async () => (await readdir(join(away.dataDir, 'arrivals', id)).catch(() => [])).length > 0,
    )
    expect(await settle(away, id, moveId, 'gone')).toBe(204)
    expect(await cancelled).toMatchObject({ status: 404 })
    expect((await arrive(away, id, moveId, stream)).status).toBe(200)
    expect(await away.delete(id)).toMatchObject({ status: 204 })
    expect((await remains(away)).filter((name) => name === id)).toEqual([])
    expect(await away.events(id)).toEqual([])

    await home.stop('SIGKILL')
    await home.start()
    expect((await home.act(id, 'wake')).status).toBe(409)
    expect(await settle(home, id, moveId, 'stay')).toBe(204)
    expect((await home.act(id, 'wake')).body.cold).toBeUndefined()
    expect(await stateOf(home, sandbox)).toBe(WHOLE)
    expect(await home.act(id, 'leave', { move_id: moveId })).toMatchObject({
      status: 409,
      body: { detail: 'the sandbox is not hibernated' },
    })
  })
})

/** A body that never ends. */
function unfinished(content: Buffer): ReadableStream {
  return new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(content)) })
}
