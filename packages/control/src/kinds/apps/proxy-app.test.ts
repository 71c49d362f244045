import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { PORT_STREAM_PROTOCOL } from '@offshoot/contract/port-stream'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

const STOLEN = '__Secure-better-auth.session_token=stolen'
/** Headers with which an app would change how a browser treats the API's origin. */
const HOSTILE = {
  'set-cookie': ['better-auth.session_token=fixed; Path=/', 'own=1'],
  'clear-site-data': '"*"',
  'strict-transport-security': 'max-age=31536000',
  'service-worker-allowed': '/',
  'alt-svc': 'h3=":443"',
  'content-security-policy': 'default-src *',
}

describe('an app behind the API, on the origin of the API', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant
  let served: Server
  let webSockets: WebSocketServer
  let path: string
  let seen: IncomingMessage[]

  beforeAll(async () => {
    served = createServer((request, response) => {
      seen.push(request)
      response.writeHead(200, { 'content-type': 'text/html', ...HOSTILE }).end('<script>steal()</script>')
    })
    webSockets = new WebSocketServer({ server: served })
    webSockets.on('headers', (headers) => headers.push('Set-Cookie: better-auth.session_token=fixed; Path=/'))
    webSockets.on('connection', (socket, request) => {
      seen.push(request)
      socket.close()
    })
    agent = await FakeAgent.start()
    agent.onUpgrade = (_request, socket) => {
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${PORT_STREAM_PROTOCOL}\r\n\r\n`,
      )
      served.emit('connection', socket)
    }
    harness = await Harness.start()
    control = await harness.control([agent])
    tenant = await harness.tenant(control, 'alice')
    path = await liveApp()
  })

  beforeEach(() => {
    seen = []
  })

  afterAll(async () => {
    webSockets.close()
    await harness.stop()
    await agent.kill()
  })

  /** Puts an app into the state after a deployment. @returns its path */
  async function liveApp(): Promise<string> {
    const { key: token } = tenant
    const app = await call(control.url, 'POST', '/v1/apps', {
      token,
      body: { name: 'app', git_url: 'https://x.example/y.git' },
    })
    const sandbox = await call(control.url, 'POST', '/v1/sandboxes', { token, body: { template: 'base' } })
    const deploymentId = randomUUID()
    await harness.pool.query(
      `insert into app_deployments (id, app_id, status, git_ref, origin_id, sandbox_id, port, was_live, finished_at, creator)
       values ($1, $2, 'live', 'main', $1, $3, 3000, true, now(), $4)`,
      [deploymentId, app.body.id, sandbox.body.id, control.control.lock.number],
    )
    await harness.pool.query('update apps set active_deployment_id = $2 where id = $1', [app.body.id, deploymentId])
    return `/v1/apps/${app.body.id}/proxy`
  }

  it('sees neither cookies nor the token that came in the query or in the address of the page before', async () => {
    const { status } = await call(control.url, 'GET', `${path}/a?b=c&access_token=${tenant.key}`, {
      headers: { cookie: STOLEN, referer: `${control.url}${path}/?access_token=${tenant.key}&d=e` },
    })
    expect([status, seen.length]).toEqual([200, 1])
    expect(seen[0]?.url).toBe('/a?b=c')
    expect(seen[0]?.headers.cookie).toBeUndefined()
    expect(seen[0]?.headers.referer).toBe(`${control.url}${path}/?d=e`)
    expect(JSON.stringify(seen[0]?.rawHeaders)).not.toContain(tenant.key)
  })

  it('answers with pages that may not run scripts, and with nothing that changes the origin', async () => {
    const { headers, body } = await call(control.url, 'GET', `${path}/`, { token: tenant.key })
    expect(body).toBe('<script>steal()</script>')
    for (const name of Object.keys(HOSTILE).filter((each) => each !== 'content-security-policy'))
      expect([name, headers.get(name)]).toEqual([name, null])
    // Without `allow-scripts` and `allow-same-origin`, so the page has an opaque origin and runs no scripts.
    expect(headers.get('content-security-policy')).toBe('sandbox')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })

  it('sees and sets no cookies with a WebSocket', async () => {
    const { hostname, port } = new URL(control.url)
    const socket = new WebSocket(`ws://${hostname}:${port}${path}/ws?access_token=${tenant.key}`, {
      headers: { cookie: STOLEN },
    })
    const { headers } = await new Promise<IncomingMessage>((resolve, reject) => {
      socket.once('upgrade', resolve)
      socket.once('error', reject)
    })
    expect(headers['set-cookie']).toBeUndefined()
    await new Promise((resolve) => socket.once('close', resolve))
    expect([seen[0]?.url, seen[0]?.headers.cookie]).toEqual(['/ws', undefined])
  })
})
