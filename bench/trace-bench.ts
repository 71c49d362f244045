import { createDatabase } from '../tests/setup/database.ts'
import { Offshoot } from '../tests/setup/offshoot.ts'
import { hold } from './cleanup.ts'
import { fill, selectOne } from './database-benches.ts'
import { PORT, startApp, underLoad } from './fork-app-bench.ts'
import { type Figure, rounds, Samples } from './measure.ts'
import { get, PORT as PREVIEW_PORT, serveIn } from './preview-benches.ts'
import { inSandbox } from './sandbox-benches.ts'
import { TracedRequests } from './traced.ts'
import { untilCopy, withZygote } from './with-zygote.ts'

const ROUNDS = 30
/** Of each kind in the life of a sandbox. */
const SHORT_REQUESTS = 5
const PREVIEWS = 100
const TEMPLATE = 'base'
const DATABASE_TEMPLATE = 'postgres-16'
const LARGE_ROUNDS = 8
/** Of one parent, and as many under load. The first fork copies its memory, later ones what has changed since. */
const LATER_FORKS = 2
const DATABASE_MIB = 1024

/** Where the time of the requests of a sandbox and of a database goes. `traces` is all requests of one sandbox. */
export async function traces(): Promise<Record<string, Figure>> {
  const traced = await TracedRequests.start()
  const offshoot = await Offshoot.startFirst('traces', { templates: [TEMPLATE, DATABASE_TEMPLATE], env: traced.env })
  const destroy = hold(() => offshoot.destroy())
  const lives = new Samples()
  for (const _round of rounds(ROUNDS, 40_000)) lives.add(await requestsOfALife(offshoot, traced))
  await offshoot.stop()
  const figures = traced.figures()
  await destroy()
  await traced.stop()
  return { traces: lives.figure('ms'), ...figures }
}

/** @returns the milliseconds of all requests */
async function requestsOfALife(offshoot: Offshoot, traced: TracedRequests): Promise<number> {
  let sum = 0
  const send = async (name: string, method: string, path: string, sent?: object) => {
    const { body, ms } = await traced.send(offshoot, name, method, path, sent)
    sum += ms
    return body
  }
  const { id } = await send('create', 'POST', '/sandboxes', { template: TEMPLATE })
  await send('first exec', 'POST', `/sandboxes/${id}/exec`, { cmd: 'true' })
  for (let i = 0; i < SHORT_REQUESTS; i++) {
    await send('exec', 'POST', `/sandboxes/${id}/exec`, { cmd: 'true' })
    await send('pause', 'POST', `/sandboxes/${id}/pause`)
    await send('resume', 'POST', `/sandboxes/${id}/resume`)
  }
  const child = await send('fork', 'POST', `/sandboxes/${id}/fork`, {})
  await send('first exec of a fork', 'POST', `/sandboxes/${child.id}/exec`, { cmd: 'true' })
  const tree = await send('fork tree of 16', 'POST', `/sandboxes/${id}/fork-tree`, { count: 16 })
  await send('hibernate', 'POST', `/sandboxes/${id}/hibernate`)
  await send('wake', 'POST', `/sandboxes/${id}/wake`)
  await Promise.all([child, ...tree.children].map((each: { readonly id: string }) => offshoot.delete(each.id)))
  await send('delete', 'DELETE', `/sandboxes/${id}`)
  const database = await send('database', 'POST', '/databases', {})
  await offshoot.request('POST', `/v1/sandboxes/${database.id}/hibernate`)
  await send('wake of a database', 'POST', `/sandboxes/${database.id}/wake`)
  const branch = await send('branch', 'POST', `/databases/${database.id}/branch`, {})
  for (const each of [branch, database]) await offshoot.request('DELETE', `/v1/databases/${each.id}`)
  return sum
}

/**
 * The same when the warm pool has copies of a zygote, which also continue forks and wakes. `traces_pool` is a create and its
 * first `node -v`.
 */
export async function poolTraces(): Promise<Record<string, Figure>> {
  const nodes = new Samples()
  const sandboxes: Work = async (offshoot, traced) => {
    for (const _round of rounds(ROUNDS, 60_000)) {
      await untilCopy(offshoot, TEMPLATE)
      nodes.add(await firstCommands(offshoot, traced))
      await untilCopy(offshoot, TEMPLATE)
      await copiesOfALife(offshoot, traced)
    }
    await previews(offshoot, traced)
  }
  const figures = await tracesOfCopies(sandboxes, livesOfDatabases)
  return { traces_pool: nodes.figure('ms'), ...figures }
}

type Work = (offshoot: Offshoot, traced: TracedRequests) => Promise<void>

/** Runs each with a server that has a zygote. */
async function tracesOfCopies(sandboxes: Work, databases: Work): Promise<Record<string, Figure>> {
  const traced = await TracedRequests.start()
  const run = (template: 'base' | 'postgres-16', work: Work) =>
    withZygote(
      template,
      async (offshoot) => {
        await work(offshoot, traced)
        await offshoot.stop()
      },
      traced.env,
    )
  await run(TEMPLATE, sandboxes)
  await run(DATABASE_TEMPLATE, databases)
  const figures = traced.figures()
  await traced.stop()
  return figures
}

/** @returns the milliseconds of the create and the first `node -v` */
async function firstCommands(offshoot: Offshoot, traced: TracedRequests): Promise<number> {
  const created = await traced.send(offshoot, 'create', 'POST', '/sandboxes', { template: TEMPLATE })
  const path = `/sandboxes/${created.body.id}/exec`
  const first = await traced.send(offshoot, 'first node -v', 'POST', path, { cmd: 'node -v' })
  await traced.send(offshoot, 'second node -v', 'POST', path, { cmd: 'node -v' })
  await offshoot.delete(created.body.id)
  return created.ms + first.ms
}

async function copiesOfALife(offshoot: Offshoot, traced: TracedRequests): Promise<void> {
  const { id } = await offshoot.create({ template: TEMPLATE })
  const run = { cmd: 'true' }
  await traced.send(offshoot, 'first exec', 'POST', `/sandboxes/${id}/exec`, run)
  await traced.send(offshoot, 'second exec', 'POST', `/sandboxes/${id}/exec`, run)
  const { body: child } = await traced.send(offshoot, 'fork', 'POST', `/sandboxes/${id}/fork`, {})
  await traced.send(offshoot, 'first exec of a fork', 'POST', `/sandboxes/${child.id}/exec`, run)
  const { body: tree } = await traced.send(offshoot, 'fork tree of 16', 'POST', `/sandboxes/${id}/fork-tree`, {
    count: 16,
  })
  await Promise.all([child, ...tree.children].map((each: { readonly id: string }) => offshoot.delete(each.id)))
  await offshoot.request('POST', `/v1/sandboxes/${id}/hibernate`)
  await traced.send(offshoot, 'wake', 'POST', `/sandboxes/${id}/wake`)
  await offshoot.delete(id)
}

async function previews(offshoot: Offshoot, traced: TracedRequests): Promise<void> {
  await inSandbox(offshoot, async (id) => {
    await serveIn(offshoot, id)
    for (const _round of rounds(PREVIEWS, 10_000))
      await traced.time('preview', async (headers) => get(offshoot, id, '/', PREVIEW_PORT, headers))
  })
}

async function livesOfDatabases(offshoot: Offshoot, traced: TracedRequests): Promise<void> {
  for (const _round of rounds(ROUNDS, 40_000)) {
    await untilCopy(offshoot, DATABASE_TEMPLATE)
    await lifeOfADatabase(offshoot, traced)
  }
}

async function lifeOfADatabase(offshoot: Offshoot, traced: TracedRequests): Promise<void> {
  const { body: database } = await traced.send(offshoot, 'database', 'POST', '/databases', {})
  await selectOne(database)
  await offshoot.request('POST', `/v1/sandboxes/${database.id}/hibernate`)
  await traced.send(offshoot, 'wake of a database', 'POST', `/sandboxes/${database.id}/wake`)
  await selectOne(database)
  await offshoot.request('DELETE', `/v1/databases/${database.id}`)
}

/**
 * The same for forks of an app that holds 300 MiB, with their first answers, for branches of a database of 1 GiB, and for
 * its wakes: all are continued by copies of a zygote. `traces_large` is the first fork of an app.
 */
export async function largeTraces(): Promise<Record<string, Figure>> {
  const first = new Samples()
  const forks: Work = async (offshoot, traced) => {
    for (const _round of rounds(LARGE_ROUNDS, 120_000)) await forksOfAnApp(offshoot, traced, first)
  }
  const figures = await tracesOfCopies(forks, lifeOfALargeDatabase)
  return { traces_large: first.figure('ms'), ...figures }
}

async function forksOfAnApp(offshoot: Offshoot, traced: TracedRequests, first: Samples): Promise<void> {
  await inSandbox(offshoot, async (id) => {
    await startApp(offshoot, id)
    first.add(await forkTraced(offshoot, traced, id, 'first fork'))
    for (let i = 0; i < LATER_FORKS; i++) await forkTraced(offshoot, traced, id, 'later fork')
    await underLoad(
      async () => get(offshoot, id, '/', PORT),
      async () => {
        for (let i = 0; i < LATER_FORKS; i++) await forkTraced(offshoot, traced, id, 'fork under load')
      },
    )
  })
}

/** @returns the milliseconds of the fork */
async function forkTraced(offshoot: Offshoot, traced: TracedRequests, id: string, name: string): Promise<number> {
  const { body: child, ms } = await traced.send(offshoot, name, 'POST', `/sandboxes/${id}/fork`, {})
  await traced.time(`first answer after a ${name}`, async (headers) => get(offshoot, child.id, '/', PORT, headers))
  await offshoot.delete(child.id)
  return ms
}

async function lifeOfALargeDatabase(offshoot: Offshoot, traced: TracedRequests): Promise<void> {
  const database = await createDatabase(offshoot)
  await fill(database, DATABASE_MIB)
  for (const _round of rounds(LARGE_ROUNDS, 60_000)) {
    const { body: branch } = await traced.send(offshoot, 'branch', 'POST', `/databases/${database.id}/branch`, {})
    await selectOne(branch)
    await offshoot.request('DELETE', `/v1/databases/${branch.id}`)
    await offshoot.request('POST', `/v1/sandboxes/${database.id}/hibernate`)
    await traced.send(offshoot, 'wake of a database', 'POST', `/sandboxes/${database.id}/wake`)
    await selectOne(database)
  }
  await offshoot.request('DELETE', `/v1/databases/${database.id}`)
}
