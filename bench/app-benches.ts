import { REQUESTS_PER_INSTANCE } from '@offshoot/contract/edge-app'
import { express, writeLock } from '../tests/setup/framework-apps.ts'
import { findRegistries } from '../tests/setup/registries.ts'
import { GitHost, ownAddress } from '../tests/setup/git-host.ts'
import { call } from '../tests/setup/http.ts'
import { nodeApp } from '../tests/setup/node-app.ts'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { visit } from '../tests/setup/preview.ts'
import { until } from '../tests/setup/until.ts'
import { type Figure, rounds, Samples } from './measure.ts'

/** Port of the benches' git server; fixed, because the network exception names it. */
export const GIT_PORT = 18_418
const DEPLOY_MS = 60_000
/** Milliseconds to install the packages of a small app under emulation, twice in parallel. */
const INSTALL_MS = 180_000
/** Polling interval; polling takes CPU time from the measured work. */
const LOOK_MS = 25

/** The network exception that lets guests reach the git server. */
export const gitHostException = (): string => `${ownAddress()}/32:${GIT_PORT}`

interface Bed {
  readonly offshoot: Offshoot
  readonly git: GitHost
  readonly id: string
  readonly host: string
}

const PAGE = { 'index.html': '<h1>hello</h1>' }

/** An app with two deployments, so that a rollback is possible. */
async function withApp(
  offshoot: Offshoot,
  work: (bed: Bed) => Promise<void>,
  files: Record<string, string> = PAGE,
): Promise<void> {
  const git = await GitHost.start(GIT_PORT)
  try {
    await git.commit('page', files)
    const body = { name: 'bench', git_url: git.urlOf('page') }
    const { body: app } = await offshoot.request('POST', '/v1/apps', { body })
    const bed = { offshoot, git, id: app.id, host: new URL(app.url).host }
    try {
      for (let i = 0; i < 2; i++) await begin(bed, 'deploys')
      await work(bed)
    } finally {
      await offshoot.request('DELETE', `/v1/apps/${app.id}`)
    }
  } finally {
    await git.stop()
  }
}

/** Waits from the request to `live`; returns the sandbox's id. */
async function begin({ offshoot, id }: Bed, action: 'deploys' | 'rollback', withinMs = DEPLOY_MS): Promise<string> {
  const { status, body: row } = await offshoot.request('POST', `/v1/apps/${id}/${action}`)
  if (status !== 202) throw new Error(`${action} answered ${status}`)
  const path = `/v1/apps/${id}/deploys/${row.id}`
  const ended = await until(
    'the end of the deploy',
    async () => {
      const { body } = await offshoot.request('GET', path)
      return body.status === 'live' || body.status === 'failed' ? body : null
    },
    withinMs,
    LOOK_MS,
  )
  if (ended.status !== 'live') throw new Error(ended.error)
  return ended.sandbox_id
}

async function get({ offshoot, host }: Bed): Promise<void> {
  const { status } = await call('GET', offshoot.credentials.edge_url, { headers: { host } })
  if (status !== 200) throw new Error(`the app answered ${status}`)
}

/** The floor: the same steps through the sandbox API. Create, clone, start a server, wait for its first answer. */
async function byHand({ offshoot, git }: Bed): Promise<void> {
  const { id } = await offshoot.create({ template: 'app' })
  const cloned = await offshoot.exec(id, `git clone -q --depth 1 ${git.urlOf('page')} /srv/page`)
  if (cloned.exit_code !== 0) throw new Error(cloned.stderr)
  const server = `require('http').createServer((_, r) => require('fs').createReadStream('/srv/page/index.html').pipe(r)).listen(3000)`
  await offshoot.request('POST', `/v1/sandboxes/${id}/exec`, {
    body: { cmd: `exec node -e "${server}"`, background: true },
  })
  await until('the server', async () => (await visit(offshoot, id, 3000)).status === 200, DEPLOY_MS, LOOK_MS)
  await offshoot.delete(id)
}

export async function deployStatic(offshoot: Offshoot): Promise<Record<string, Figure>> {
  const [deploy, floor, rollback] = [new Samples(), new Samples(), new Samples()]
  await withApp(offshoot, async (bed) => {
    for (const _ of rounds(5)) {
      await deploy.time(async () => begin(bed, 'deploys'))
      await floor.time(async () => byHand(bed))
    }
    for (const _ of rounds(5, 20_000)) await rollback.time(async () => begin(bed, 'rollback'))
  })
  return { deploy_static: deploy.figure('ms', floor.p50), rollback: rollback.figure('ms') }
}

/**
 * Deploys another commit of an Express app with an unchanged lock file. Floor: the same steps by hand in a guest that
 * has the packages.
 */
export async function deployNodeCached(offshoot: Offshoot): Promise<Record<string, Figure>> {
  const [deploy, floor] = [new Samples(), new Samples()]
  const { npm } = await findRegistries()
  const git = await GitHost.start(GIT_PORT)
  try {
    const commit = (text: string) =>
      git.commit('express', { ...express.files, 'README.md': text }, { before: writeLock })
    await commit('first')
    const body = { name: 'bench', git_url: git.urlOf('express'), env: npm }
    const { body: app } = await offshoot.request('POST', '/v1/apps', { body })
    const bed = { offshoot, git, id: app.id, host: new URL(app.url).host }
    const [installed] = await Promise.all([installByHand(bed, npm), begin(bed, 'deploys', INSTALL_MS)])
    await until('the installed tree', async () => keepsTree(bed), DEPLOY_MS, LOOK_MS)
    for (const round of rounds(5, 60_000)) {
      await commit(`round ${round}`)
      await deploy.time(async () => begin(bed, 'deploys'))
      await floor.time(async () => againByHand(bed, installed))
    }
    await offshoot.request('DELETE', `/v1/snapshots/${installed}`)
    await offshoot.request('DELETE', `/v1/apps/${app.id}`)
  } finally {
    await git.stop()
  }
  return { deploy_node_cached: deploy.figure('ms', floor.p50) }
}

async function keepsTree({ offshoot }: Bed): Promise<boolean> {
  return (await offshoot.request('GET', '/metrics')).text.includes('offshoot_app_trees{status="ready"} 1')
}

/** Takes a snapshot of a sandbox with the app's packages. */
async function installByHand({ offshoot, git }: Bed, env: Readonly<Record<string, string>>): Promise<string> {
  const { id } = await offshoot.create({ template: 'app', env })
  // In the background, because a request that takes minutes to answer would time out.
  const path = `/v1/sandboxes/${id}/exec`
  const cmd = `git clone -q --depth 1 ${git.urlOf('express')} /srv/own && cd /srv/own && npm ci`
  const { body: begun } = await offshoot.request('POST', path, { body: { cmd, background: true } })
  const exited = async () => {
    const { body } = await offshoot.request('GET', `${path}s/${begun.exec_id}`)
    return body.status === 'exited' && body
  }
  const { exit_code: code } = await until('the packages', exited, INSTALL_MS, 1_000)
  if (code !== 0) throw new Error(`npm ci ended with ${code}`)
  const { body: snapshot } = await offshoot.request('POST', `/v1/sandboxes/${id}/snapshots`)
  await offshoot.delete(id)
  return snapshot.id
}

async function againByHand({ offshoot }: Bed, snapshot: string): Promise<void> {
  const { id } = await offshoot.create({ template: 'app', from_snapshot: snapshot })
  const pulled = await offshoot.exec(id, 'cd /srv/own && git fetch -q --depth 1 && git checkout -q FETCH_HEAD')
  if (pulled.exit_code !== 0) throw new Error(pulled.stderr)
  const started = { cmd: 'PORT=3000 exec node server.js', cwd: '/srv/own', background: true }
  await offshoot.request('POST', `/v1/sandboxes/${id}/exec`, { body: started })
  await until('the server', async () => (await visit(offshoot, id, 3000)).status === 200, DEPLOY_MS, LOOK_MS)
  await offshoot.delete(id)
}

/**
 * A page at the app's address; floor: the same page at its sandbox's address. Also the first page of a hibernated app.
 */
export async function appRequests(offshoot: Offshoot): Promise<Record<string, Figure>> {
  const [request, preview, first, wake] = [new Samples(), new Samples(), new Samples(), new Samples()]
  await withApp(offshoot, async (bed) => {
    const sandbox = await begin(bed, 'deploys')
    for (const _ of rounds(200, 15_000)) {
      await request.time(async () => get(bed))
      await preview.time(async () => visit(offshoot, sandbox, 3000))
    }
    const act = (action: string) => offshoot.request('POST', `/v1/sandboxes/${sandbox}/${action}`)
    for (const _ of rounds(10, 25_000)) {
      await act('hibernate')
      await first.time(async () => get(bed))
      await act('hibernate')
      await wake.time(async () => act('wake'))
    }
  })
  return { app_request: request.figure('ms', preview.p50), app_wake: first.figure('ms', wake.p50) }
}

/** Concurrent requests of the load step: enough to need a second instance. */
const STEP = 2 * REQUESTS_PER_INSTANCE

/**
 * Time from the first request of a load step to the first answer of a second instance. Floor: a fork of the first one
 * through the API.
 */
export async function appScaleOut(offshoot: Offshoot): Promise<Record<'app_scale_out', Figure>> {
  const [scaleOut, fork] = [new Samples(), new Samples()]
  const work = async (bed: Bed) => {
    const sandbox = await begin(bed, 'deploys')
    for (const _ of rounds(5, 60_000)) {
      await limitInstances(bed, 1)
      await until('one instance', async () => (await instancesOf(bed)) === 1, DEPLOY_MS, LOOK_MS)
      await limitInstances(bed, 2)
      await scaleOut.time(async () => secondAnswer(bed))
      const path = `/v1/sandboxes/${sandbox}/fork`
      const child = await fork.time(async () => (await offshoot.request('POST', path)).body.id as string)
      if (child !== null) await offshoot.delete(child)
    }
  }
  await withApp(offshoot, work, nodeApp('bench'))
  return { app_scale_out: scaleOut.figure('ms', fork.p50) }
}

async function limitInstances({ offshoot, id }: Bed, max: number): Promise<void> {
  const { status } = await offshoot.request('PATCH', `/v1/apps/${id}`, { body: { max_instances: max } })
  if (status !== 200) throw new Error(`PATCH answered ${status}`)
}

async function instancesOf({ offshoot }: Bed): Promise<number> {
  const { body } = await offshoot.request('GET', '/v1/sandboxes?status=running')
  return body.filter(({ managed_by: by }: { managed_by: string | null }) => by === 'app').length
}

/** Sends that many concurrent requests until a second instance answers. */
async function secondAnswer(bed: Bed): Promise<void> {
  const seen = new Set<string>()
  const { promise: second, resolve, reject } = Promise.withResolvers<void>()
  const visitors = Array.from({ length: STEP }, async () => {
    while (seen.size < 2) seen.add(await hostOf(bed))
    resolve()
  })
  const all = Promise.all(visitors)
  all.catch(reject)
  await second
  await all
}

/** Host name of the instance that answers a request of 50 ms. */
async function hostOf({ offshoot, host }: Bed): Promise<string> {
  const { status, text } = await call('GET', `${offshoot.credentials.edge_url}/slow/50`, { headers: { host } })
  if (status !== 200) throw new Error(`the app answered ${status}`)
  return text
}
