import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NotFoundError, OffshootError } from '../http/errors.ts'
import { Scope } from '../http/scope.ts'
import { Transport } from '../http/transport.ts'
import { json, ScriptedServer } from '../test/scripted-server.ts'
import { Files } from './files.ts'

let server: ScriptedServer
beforeAll(async () => {
  server = await ScriptedServer.start()
})
afterAll(() => server.stop())

const files = () => new Files(new Scope(new Transport({ ...server.options, maxRetries: 0 }), { id: 'x' }))

const created = (path: string) => `event: created\ndata: ${JSON.stringify({ path, is_dir: false })}\n\n`
/** Sends changes, then ends the stream or breaks the connection. */
const changes = (text: string, end: 'ends' | 'breaks' | 'stays') => (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const leave = { ends: () => response.end(), breaks: () => response.destroy(), stays: () => undefined }[end]
  response.write(text === '' ? ': \n\n' : text, leave)
}

async function seen(): Promise<string[]> {
  const found: string[] = []
  for await (const change of files().watch('/a')) found.push('path' in change ? change.path : change.type)
  return found
}

describe('a watch', () => {
  it('says that changes may be lost as soon as the folder is watched again, until the sandbox is deleted', async () => {
    server.script(
      changes(created('/a/1'), 'breaks'),
      json(502, { error: 'agent unreachable' }),
      // An agent that restarts ends its streams.
      changes('', 'ends'),
      changes(created('/a/2'), 'ends'),
      json(404, { error: 'not found' }),
    )
    expect(await seen()).toEqual(['/a/1', 'overflow', 'overflow', '/a/2'])
  })

  it('yields an overflow only when the new watch is active, also if nothing else happens', async () => {
    server.script(changes(created('/a/1'), 'breaks'), json(502, { error: 'agent unreachable' }), changes('', 'stays'))
    const watch = files().watch('/a')
    expect(await watch.next()).toMatchObject({ value: { path: '/a/1' } })
    expect(await watch.next()).toEqual({ done: false, value: { type: 'overflow' } })
    expect(server.received).toHaveLength(3)
    await watch.return()
  })

  it('never ends silently: it throws when the folder is gone, whenever that is noticed', async () => {
    server.script(changes('event: error\ndata: {"error":"the directory is gone"}\n\n', 'ends'))
    await expect(seen()).rejects.toEqual(new OffshootError('the directory is gone'))
    server.script(changes(created('/a/1'), 'breaks'), json(404, { error: 'no such file or directory' }))
    await expect(seen()).rejects.toBeInstanceOf(NotFoundError)
  })
})

it('a path exists only in a sandbox that does', async () => {
  server.script(json(404, { error: 'no such file or directory' }))
  expect(await files().exists('/a')).toBe(false)
  server.script(json(404, { error: 'not found' }))
  await expect(files().exists('/a')).rejects.toBeInstanceOf(NotFoundError)
})
