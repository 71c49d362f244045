import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ObeyedCluster } from './obeyed-cluster.ts'

describe('the cluster that an agent obeys', () => {
  const log = pino({ level: 'silent' })
  let folder: string
  let path: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'offshoot-cluster-'))
    path = join(folder, 'cluster.json')
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('is the first that asks, also after a restart', async () => {
    const [first, second] = [randomUUID(), randomUUID()]
    const cluster = await ObeyedCluster.open(path, log)
    cluster.refuseOther(second)
    const answers = await Promise.allSettled([cluster.obey(first, false), cluster.obey(second, false)])
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    const reopened = await ObeyedCluster.open(path, log)
    expect(reopened.id).toBe(first)
    reopened.refuseOther(first)
    reopened.refuseOther(undefined)
    expect(() => reopened.refuseOther(second)).toThrow('another cluster')
  })

  it('is another one only when an operator has it taken over', async () => {
    const [first, second] = [randomUUID(), randomUUID()]
    const cluster = await ObeyedCluster.open(path, log)
    await cluster.obey(first, false)
    await expect(cluster.obey(second, false)).rejects.toThrow('another cluster')
    await cluster.obey(second, true)
    expect((await ObeyedCluster.open(path, log)).id).toBe(second)
    expect(() => cluster.refuseOther(first)).toThrow('another cluster')
  })

  it('accepts no cluster while the record is unreadable', async () => {
    await writeFile(path, '{"cluster_id":')
    const cluster = await ObeyedCluster.open(path, log)
    const own = randomUUID()
    expect(() => cluster.refuseOther(own)).toThrow('another cluster')
    await expect(cluster.obey(own, false)).rejects.toThrow('another cluster')
    await cluster.obey(own, true)
    cluster.refuseOther(own)
  })
})
