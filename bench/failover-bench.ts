import { call } from '../tests/setup/http.ts'
import { GitHost } from '../tests/setup/git-host.ts'
import { until } from '../tests/setup/until.ts'
import { nodeApp } from '../tests/setup/node-app.ts'
import { GIT_PORT, gitHostException } from './app-benches.ts'
import { type Figure, Samples } from './measure.ts'
import { FAILOVERS, LOOK_MS, LOST_AFTER_SECONDS, TwoHosts } from './two-hosts.ts'

const BUILD_MS = 180_000

interface Bed {
  readonly hosts: TwoHosts
  readonly app: string
  readonly host: string
}

/**
 * `failover_to_serving_s`: from the moment at which the host of an app is cut off until a visitor has an answer from
 * another host. Floor: a deploy of the same app, from the request to the first answer. `drain_app_s`: from the request
 * to drain the host of an app until the end of the drain.
 */
export async function failover(): Promise<Record<string, Figure>> {
  const git = await GitHost.start(GIT_PORT)
  try {
    await git.commit('app', nodeApp('one'))
    const settings = { lost_after_seconds: LOST_AFTER_SECONDS }
    const env = { OFFSHOOT_EGRESS_ALLOW: gitHostException() }
    return await TwoHosts.use('failover', async (hosts) => measure(hosts, git), {
      templates: ['minimal', 'app'],
      env,
      settings,
    })
  } finally {
    await git.stop()
  }
}

async function measure(hosts: TwoHosts, git: GitHost): Promise<Record<string, Figure>> {
  const body = { name: 'app', git_url: git.urlOf('app') }
  const { body: app } = await hosts.offshoot.request('POST', '/v1/apps', { body })
  const bed = { hosts, app: app.id, host: new URL(app.url).host }
  const [lost, deployed, drained] = [new Samples(), new Samples(), new Samples()]
  for (let round = 0; round < FAILOVERS; round++) {
    deployed.add(await hosts.onlyOn(hosts.second, async () => deploy(bed)))
    lost.add(await cutOff(bed))
    drained.add(await hosts.drain(hosts.first, 1))
    drained.add(await hosts.drain(hosts.second, 1))
  }
  return { failover_to_serving_s: lost.figure('s', deployed.p50), drain_app_s: drained.figure('s', deployed.p50) }
}

/** @returns seconds until a visitor has an answer of the new version */
async function deploy(bed: Bed): Promise<number> {
  const beganAt = performance.now()
  const { body } = await bed.hosts.offshoot.request('POST', `/v1/apps/${bed.app}/deploys`)
  await serves(bed, body.id)
  return (performance.now() - beganAt) / 1000
}

/** @returns seconds until a visitor has an answer of another host */
async function cutOff(bed: Bed): Promise<number> {
  const before = await activeOf(bed)
  const isServed = async () => (await activeOf(bed)) !== before && (await answers(bed))
  return bed.hosts.cutOffUntil('the app to come back', isServed)
}

async function serves(bed: Bed, deployment: string): Promise<void> {
  const isServed = async () => (await activeOf(bed)) === deployment && (await answers(bed))
  await until('the version to serve', isServed, BUILD_MS, LOOK_MS)
}

async function activeOf({ hosts, app }: Bed): Promise<string> {
  return (await hosts.offshoot.request('GET', `/v1/apps/${app}`)).body.active_deployment_id
}

async function answers({ hosts, host }: Bed): Promise<boolean> {
  const { status } = await call('GET', hosts.offshoot.credentials.edge_url, { headers: { host } })
  return status === 200
}
