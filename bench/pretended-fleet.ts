import { type ChildProcess, fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HOST_JOIN_PATH, type JoinedHost } from '@offshoot/contract/host-enrolment'
import type { DatabaseAddress } from '@offshoot/contract/database-address'
import { FakeAgent } from '@offshoot/control/test/fake-agent'
import { FakeAgentState } from '@offshoot/control/test/fake-agent-state'
import { findFreePort } from '@offshoot/kit/free-port'
import { certificateRequest, makePrivateKey } from '@offshoot/kit/x509/certificate-request'
import { NODE_OPTIONS } from '@offshoot/up/base/node-options'
import { dataLayout, makeDataDir } from '@offshoot/up/base/data-layout'
import { DATABASE, ensureCluster } from '@offshoot/up/services/postgres-cluster'
import { postgresPrograms } from '@offshoot/up/services/postgres-install'
import { postgresService, waitForPostgres } from '@offshoot/up/services/postgres-service'
import { Supervisor } from '@offshoot/up/services/supervisor'
import { Pool } from 'pg'
import { call } from '../tests/setup/http.ts'
import { until } from '../tests/setup/until.ts'
import { hold } from './cleanup.ts'
import { makeWorkspace } from './limits-benches.ts'

const OPERATOR_KEY = `ofs_operator_${'x'.repeat(43)}`
/** Hosts that join at the same time. */
const AT_ONCE = 8
/** Each host has a loopback address of its own, as hosts have, and the port of agents. */
const AGENT_PORT = 17_443
const FOLLOWED_MS = 120_000

const isFollowed = ({ requests }: FakeAgent) => requests.some(({ path }) => path === '/v1/agent/events')
const nothing = async () => undefined
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** A control process, and hosts that have joined it. Their agents have no VMs, but speak the true protocol over TLS. */
export interface PretendedFleet {
  readonly control: ChildProcess
  readonly url: string
  readonly agents: readonly FakeAgent[]
  /** Control's database. */
  readonly pool: Pool
  readonly workspace: { readonly id: string; readonly key: string }
}

/** Starts PostgreSQL as `bin/up` does, control, and the hosts. Ends all of them after `use`. */
export async function withPretendedFleet<T>(hosts: number, use: (fleet: PretendedFleet) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'fleet-'))
  await chmod(folder, 0o711)
  const releases = [hold(() => rm(folder, { recursive: true, force: true }))]
  const keep = (release: () => Promise<unknown>) => releases.push(hold(release))
  try {
    const database = await servePostgres(folder, keep)
    const pool = new Pool(database)
    pool.on('error', () => undefined)
    keep(() => pool.end())
    const { control, url } = await startControl(folder, database, keep)
    const agents: FakeAgent[] = []
    for (let first = 0; first < hosts; first += AT_ONCE) {
      const group = Array.from({ length: Math.min(AT_ONCE, hosts - first) }, (_, at) => joined(url, first + at))
      agents.push(...(await Promise.all(group)))
    }
    keep(() => Promise.all(agents.map((agent) => agent.kill())))
    await until('control to follow every host', () => agents.every(isFollowed), FOLLOWED_MS)
    return await use({ control, url, agents, pool, workspace: await makeWorkspace(pool) })
  } finally {
    for (const release of releases.toReversed()) await release()
  }
}

type Keep = (release: () => Promise<unknown>) => void

async function servePostgres(folder: string, keep: Keep): Promise<DatabaseAddress> {
  const layout = dataLayout(join(folder, 'data'), join(folder, 'images'))
  await makeDataDir(layout)
  const supervisor = new Supervisor(layout.logs, { started: nothing, ended: nothing, restarting: () => undefined })
  const never = new AbortController().signal
  const [programs, port] = [await postgresPrograms(), await findFreePort()]
  const password = await ensureCluster(layout, programs, never)
  supervisor.start(await postgresService(layout, programs, port))
  keep(() => supervisor.stop(['postgres']))
  await waitForPostgres(layout, supervisor, never)
  return { host: '127.0.0.1', port, password, ...DATABASE }
}

async function startControl(folder: string, database: DatabaseAddress, keep: Keep) {
  const listen = { host: '127.0.0.1', port: await findFreePort() }
  const url = `http://127.0.0.1:${listen.port}`
  const config = {
    listen,
    public_url: url,
    database,
    data_dir: join(folder, 'data/control'),
    agents: [],
    limits: { default_plan: 'self-hosted', rate_burst: 1_000_000, rate_per_second: 1_000_000 },
    operator_key_sha256: createHash('sha256').update(OPERATOR_KEY).digest('hex'),
    commit: 'bench',
    log_level: 'error',
  }
  const path = join(folder, 'control.json')
  await writeFile(path, JSON.stringify(config))
  const control = fork(join(import.meta.dirname, 'fleet-control.ts'), [path], {
    stdio: 'inherit',
    execArgv: [...process.execArgv, ...NODE_OPTIONS],
  })
  const exited = once(control, 'exit')
  keep(async () => {
    control.kill('SIGTERM')
    await exited
  })
  const [message] = await Promise.race([once(control, 'message'), exited])
  if (message !== 'listening') throw new Error(`control ended with ${String(message)}`)
  return { control, url }
}

/** A host joins as `bin/up --join` does, and its agent starts. */
async function joined(url: string, number: number): Promise<FakeAgent> {
  const host = `127.77.${number >> 8}.${number & 255}`
  const key = makePrivateKey()
  const { body: made } = await call('POST', `${url}/v1/admin/hosts/tokens`, { headers: bearer(OPERATOR_KEY) })
  const answer = await call('POST', `${url}${HOST_JOIN_PATH}`, {
    headers: bearer(made.token),
    body: { request: await certificateRequest(key), url: `https://${host}:${AGENT_PORT}` },
  })
  if (answer.status !== 200) throw new Error(`a join answered ${answer.status}: ${answer.text}`)
  const { host_id: id, certificate: cert, authority: ca, secret } = answer.body as JoinedHost
  return FakeAgent.start({ state: new FakeAgentState(id), host, port: AGENT_PORT, tls: { cert, key, ca }, secret })
}
