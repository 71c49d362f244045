import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { AgentProcess, eventually, OTHER_WORKSPACE, WORKSPACE } from '../test/agent-process.ts'

let agent: AgentProcess
let id: string
beforeAll(async () => {
  agent = await AgentProcess.create()
  await agent.start()
  id = (await agent.created()).id
})
afterAll(async () => {
  await agent.destroy()
})

const at = (path: string) => `${agent.url}/v1/sandboxes/${id}/${path}`
const authorization = async (workspace = WORKSPACE) => ({ authorization: `Bearer ${await agent.token(workspace)}` })

async function stream(cmd: string): Promise<Response> {
  const headers = { ...(await authorization()), 'content-type': 'application/json' }
  return fetch(at('exec/stream'), { method: 'POST', headers, body: JSON.stringify({ cmd }) })
}

async function open(path: string): Promise<WebSocket> {
  const socket = new WebSocket(at(path).replace('http', 'ws'), { headers: await authorization() })
  await once(socket, 'open')
  return socket
}

const closeOf = async (socket: WebSocket) => {
  const [code, reason] = (await once(socket, 'close')) as [number, Buffer]
  return [code, reason.toString()]
}

describe('streams of an agent', () => {
  it('answer 404 to another workspace', async () => {
    const other = await authorization(OTHER_WORKSPACE)
    const upgrade = new WebSocket(at('exec/ws').replace('http', 'ws'), { headers: other })
    const [, response] = (await once(upgrade, 'unexpected-response')) as [
      unknown,
      NodeJS.ReadableStream & { statusCode: number },
    ]
    expect([response.statusCode, JSON.parse(await text(response))]).toEqual([404, { error: 'sandbox not found' }])
    const plain = await fetch(at('execs'), { headers: other })
    expect([plain.status, await plain.json()]).toEqual([404, { error: 'sandbox not found' }])
  })

  it('end with a reason when the agent shuts down, which does not wait for them', async () => {
    const events = await stream('echo on; sleep 7501')
    const commands = await open('exec/ws')
    commands.send('{"id":"1","cmd":"sleep 7501"}')
    const terminal = await open('exec/pty?session=kept')
    const closed = [closeOf(commands), closeOf(terminal)]
    const seen = events.text()
    await eventually('both commands', async () => {
      const { body } = await agent.exec(id, { cmd: 'ps | grep -c "[s]leep 7501"' })
      return Number(body.stdout) >= 2
    })
    await agent.stop()
    expect(await seen).toBe(
      'event: stdout\ndata: {"chunk":"on\\n"}\n\nevent: error\ndata: {"error":"the command was stopped"}\n\n',
    )
    expect(await Promise.all(closed)).toEqual([
      [1012, 'shutting down'],
      [1012, 'shutting down'],
    ])
    await agent.start()
    await eventually('the commands gone', async () => {
      const { body } = await agent.exec(id, { cmd: 'ps | grep -c "[s]leep 7501" || true' })
      return Number(body.stdout) === 0
    })
  })
})
