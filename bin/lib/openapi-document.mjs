// Prints the document that control serves at /openapi.json. It describes the routes, so no database or agent runs.
//
//     node bin/lib/openapi-document.mjs > openapi.json
import { controlConfig } from '../../packages/contract/src/process-config.ts'
import { createServer } from '../../packages/control/src/server.ts'

const config = controlConfig.parse({
  database: { host: 'localhost', port: 5432, user: 'none', password: 'none', database: 'none' },
  data_dir: '/nonexistent',
  listen: { host: '127.0.0.1', port: 8080 },
  public_url: 'http://127.0.0.1:8080',
  agents: [],
  cors_origins: [],
  commit: 'none',
  limits: { default_plan: 'self-hosted' },
})

/** A service that routes may hold, but not use while they are only described. */
const unused = (name) =>
  new Proxy(() => undefined, {
    get: (_target, key) => (typeof key === 'symbol' || key === 'then' ? undefined : unused(`${name}.${key}`)),
    apply: () => undefined,
  })

const log = { level: 'silent', child: () => log }
for (const level of ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']) log[level] = () => undefined

const control = new Proxy({ config, log }, { get: (target, key) => target[key] ?? unused(String(key)) })
const app = await createServer(control)
const { statusCode, body } = await app.inject('/openapi.json')
if (statusCode !== 200) throw new Error(`/openapi.json answered ${statusCode}: ${body}`)
process.stdout.write(`${JSON.stringify(JSON.parse(body), null, 2)}\n`, () => process.exit(0))
