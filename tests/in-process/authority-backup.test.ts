/** @module-tag long */
/** Control's machine is lost while the authority of the fleet is being replaced. A host remains. */
import { X509Certificate } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { trustVersionOf } from '@offshoot/contract/fleet-identity'
import { HOST_VERSION_PATH } from '@offshoot/contract/host-enrolment'
import { keepAuthority } from '@offshoot/control/fleet/authority-rotation'
import { FakeAgent } from '@offshoot/control/test/fake-agent'
import { FakeAgentState } from '@offshoot/control/test/fake-agent-state'
import { call, eventually, Harness, type RunningControl } from '@offshoot/control/test/harness'
import { JoiningHost } from '@offshoot/control/test/joining-host'
import { OPERATOR, OPERATOR_KEY } from '@offshoot/control/test/operator'
import { findFreePort } from '@offshoot/kit/free-port'
import { certificatesIn } from '@offshoot/kit/issued-certificates'
import { backUp } from '@offshoot/up/backup/backup'
import { restore } from '@offshoot/up/backup/restore'
import { type DataLayout, dataLayout, makeDataDir } from '@offshoot/up/base/data-layout'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { serveCluster } from '../setup/served-cluster.ts'

const PASSPHRASE = 'correct horse'
const AUTHORITY = '/v1/admin/hosts/authority'
const never = new AbortController().signal

let folder: string
let harness: Harness | undefined
let control: RunningControl
let host: JoiningHost
let agent: FakeAgent | undefined

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-authority-backup-'))
})
afterEach(async () => {
  await harness?.stop()
  await agent?.kill()
  await rm(folder, { recursive: true })
})

const machine = (name: string) => dataLayout(join(folder, name), join(folder, 'images'))

/** Control and its PostgreSQL, with what the data directory of the machine has. */
async function start(layout: DataLayout): Promise<void> {
  const { address, stop } = await serveCluster(layout)
  harness = await Harness.on({ ...address, stop })
  control = await harness.control([], { ...OPERATOR, database: address, data_dir: layout.control })
}

/** Another machine, with the backup. The one before is lost. */
async function startRestored(name: string, backup: string): Promise<void> {
  await harness?.stop()
  harness = undefined
  await restore(machine(name), backup, PASSPHRASE, never)
  await start(machine(name))
}

const asOperator = (method: string, path: string) => call(control.url, method, path, { token: OPERATOR_KEY })
const state = async () => (await asOperator('GET', AUTHORITY)).body
const isReached = () => control.control.fleet.byId(host.joined?.host_id ?? '')?.isReachable === true

async function joinHost(): Promise<void> {
  const port = await findFreePort()
  host = new JoiningHost(`https://127.0.0.1:${port}`)
  const { body } = await asOperator('POST', '/v1/admin/hosts/tokens')
  await host.join(control, body.token)
  const { host_id: id = '', secret = '' } = host.joined ?? {}
  agent = await FakeAgent.start({ state: new FakeAgentState(id), port, tls: host.identity, secret })
  await eventually(isReached)
}

/** What a host does every few seconds. */
async function renewIfOutdated(): Promise<void> {
  const { body } = await call(control.url, 'GET', HOST_VERSION_PATH)
  if (trustVersionOf(new X509Certificate(host.identity.cert)) === body.version) return
  expect((await host.takeRenewed(control)).status).toBe(200)
  agent?.present(host.identity)
}

const untilStep = (step: string) =>
  eventually(async () => {
    await keepAuthority(control.control, 'round')
    return (await state()).step === step
  })

const untilReplaced = () =>
  eventually(async () => {
    await renewIfOutdated()
    await keepAuthority(control.control, 'round')
    const { step, waiting } = await state()
    return step === 'settled' && waiting === 0
  })

it('a backup of each step brings the replacement back, which goes on to its end with the same hosts', async () => {
  await makeDataDir(machine('first'))
  await start(machine('first'))
  await joinHost()
  const [old] = certificatesIn(host.identity.ca)
  await asOperator('POST', `${AUTHORITY}/rotate`)
  const introducing = (await backUp(machine('first'), join(folder, 'introducing.age'), PASSPHRASE, never)).path
  await renewIfOutdated()
  await untilStep('replacing')
  const replacing = (await backUp(machine('first'), join(folder, 'replacing.age'), PASSPHRASE, never)).path
  await untilReplaced()
  const replaced = host.identity
  const [present] = certificatesIn(replaced.ca)
  expect(present?.fingerprint256).not.toBe(old?.fingerprint256)

  // The host is further than the backups. Of the first one, control signs with an authority that it trusts no more.
  for (const [name, backup] of Object.entries({ replacing, introducing })) {
    await startRestored(name, backup)
    await untilReplaced()
    await eventually(isReached)
    expect(certificatesIn(host.identity.ca).map((each) => each.fingerprint256)).toEqual([present?.fingerprint256])
    // It was not begun anew.
    const { body } = await asOperator('GET', '/v1/admin/audit?action=authority.advanced')
    expect(body.map(({ target }: { target: string }) => target)).toEqual(['3', '2'])
  }
})
