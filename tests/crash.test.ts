import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { untilConsistent, rowsOf } from './setup/consistency.ts'
import { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'

let offshoot: Offshoot
beforeAll(async () => {
  offshoot = await Offshoot.start('crash')
})
afterAll(async () => {
  await offshoot?.destroy()
})

const COUNTER = 'i=0; while true; do i=$((i+1)); echo $i > /tmp/count; sleep 0.05; done >/dev/null 2>&1 &'
const count = async (id: string) => Number((await offshoot.exec(id, 'cat /tmp/count')).stdout)

async function deleteAll(): Promise<void> {
  await Promise.all((await rowsOf(offshoot)).map(async ({ id }) => offshoot.delete(id)))
  await untilConsistent(offshoot)
  expect(await offshoot.virtualMachines()).toEqual([])
  expect(await offshoot.folders()).toEqual([])
}

describe('a guest that runs', () => {
  it.each(['agent', 'control', 'postgres'] as const)('goes on while %s is killed and comes back', async (service) => {
    const { id } = await offshoot.create()
    const [machine] = await offshoot.virtualMachines()
    await offshoot.exec(id, COUNTER)
    const before = await until('the counter counting', async () => count(id))
    await offshoot.killService(service)
    expect(await offshoot.virtualMachines()).toEqual([machine])
    await until('the same counter counting on', async () => (await count(id)) > before)
    await offshoot.delete(id)
  })

  it('goes on over Ctrl-C and the next start', { tags: ['long'] }, async () => {
    const { id } = await offshoot.create()
    await offshoot.exec(id, COUNTER)
    const before = await until('the counter counting', async () => count(id))
    expect(await offshoot.stop()).toBe(0)
    expect(await offshoot.virtualMachines()).toHaveLength(1)
    await offshoot.up()
    await until('the same counter counting on', async () => (await count(id)) > before)
    await offshoot.delete(id)
  })
})

describe('a kill -9 in the middle of creates and deletes', () => {
  it.each(['agent', 'control'] as const)(
    'of %s leaves rows and VMs agreeing',
    { tags: ['faults'] },
    async (service) => {
      const kept = await Promise.all(Array.from({ length: 3 }, async () => offshoot.create()))
      const underWay = [
        ...Array.from({ length: 6 }, async () => offshoot.create()),
        ...kept.map(async ({ id }) => offshoot.delete(id)),
      ].map(async (each) => each.catch(() => undefined))
      await until('a first VM of the new ones', async () =>
        (await offshoot.folders()).some((id) => kept.every((k) => k.id !== id)),
      )
      await offshoot.killService(service)
      await Promise.all(underWay)
      await untilConsistent(offshoot)
      for (const { id, status } of await rowsOf(offshoot))
        if (status === 'running') expect((await offshoot.exec(id, 'echo here')).stdout).toBe('here\n')
      await deleteAll()
    },
  )

  it('of every QEMU leaves failed rows that can be deleted', { tags: ['faults'] }, async () => {
    await Promise.all(Array.from({ length: 3 }, async () => offshoot.create()))
    for (const { pid } of await offshoot.virtualMachines()) process.kill(pid, 'SIGKILL')
    await until('three failed rows', async () => {
      const rows: { status: string }[] = (await offshoot.request('GET', '/v1/sandboxes?status=failed')).body
      return rows.length === 3
    })
    await deleteAll()
  })

  it('of QEMU while the agent is away is found out when it returns', { tags: ['faults'] }, async () => {
    const { id } = await offshoot.create()
    const agent = await until('the agent', async () => offshoot.service('agent'))
    const [machine] = await offshoot.virtualMachines()
    process.kill(agent.pid, 'SIGKILL')
    process.kill(machine?.pid ?? Number.NaN, 'SIGKILL')
    await until('status failed', async () => {
      const answer = await offshoot.request('GET', `/v1/sandboxes/${id}`).catch(() => null)
      return answer?.body.status === 'failed'
    })
    await offshoot.healthy()
    await deleteAll()
  })
})

it(
  'fifty creates at once all succeed or are refused as specified, and deletes leave nothing',
  { tags: ['long'] },
  async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, async () =>
        offshoot.request('POST', '/v1/sandboxes', { body: { template: 'minimal' } }),
      ),
    )
    expect(answers.filter(({ status }) => ![201, 429, 507].includes(status)).map(({ text }) => text)).toEqual([])
    const created = answers.filter(({ status }) => status === 201).map(({ body }) => body.id as string)
    expect(created.length).toBeGreaterThan(0)
    expect((await offshoot.virtualMachines()).map(({ sandboxId }) => sandboxId).toSorted()).toEqual(created.toSorted())
    const outputs = await Promise.all(created.map(async (id) => (await offshoot.exec(id, 'hostname')).stdout))
    expect(new Set(outputs).size).toBe(created.length)
    await deleteAll()
  },
)
