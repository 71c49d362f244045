import { once } from 'node:events'
import { mkdir, readdir, readFile, readlink, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { identifyProcess, isAlive } from '@offshoot/kit/process-identity'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { parentOf } from '../host/find-vm-processes.ts'
import { Mappers } from '../../test/memory-mappers.ts'
import { IMAGE_SOCKET } from '../vm/machine.ts'
import { MemoryImage } from './memory-image.ts'

let mappers: Mappers
beforeAll(async () => {
  mappers = await Mappers.open()
})
afterEach(() => mappers.end())
afterAll(() => mappers.close())

const deadline = () => Deadline.after(60_000, 'test')

async function identify(pid: number) {
  const process = await identifyProcess(pid)
  if (process === null) throw new Error(`no process ${pid}`)
  return process
}

async function eventually(holds: () => Promise<boolean>): Promise<void> {
  const endsAtMs = performance.now() + 30_000
  while (!(await holds())) {
    if (performance.now() > endsAtMs) throw new Error('not within 30 s')
    await delay(5)
  }
}

/** A process with the preload object, which can take images. */
async function imaged(name: string) {
  const cwd = join(mappers.folder, name)
  await mkdir(cwd)
  const mapper = await (await mappers.start(undefined, { images: cwd })).ready()
  const process = await identify(mapper.pid)
  const take = async () => {
    const image = await MemoryImage.take({ socket: async (name) => join(cwd, name), process }, deadline())
    if (image === null) throw new Error('no image was made')
    return image
  }
  return { mapper, cwd, process, take }
}

describe('an image of the memory', () => {
  it('keeps the content of its moment while its process writes, and ends when it is released', async () => {
    const { mapper, take } = await imaged('moment')
    await mapper.ask('w 10 4 1 1')
    const image = await take()
    await mapper.ask('w 10 1 1 2')
    await mapper.ask('w 20 1 1 2')
    await mapper.ask('d 11 1')
    const { files, counted } = mappers.save(image.process)
    expect(counted).toEqual({ pages: 4, runs: 1, bases: 0 })
    expect((await readFile(files.pages)).every((byte) => byte === 1)).toBe(true)
    image.close()
    await eventually(async () => !(await isAlive(image.process)))
    // Only one image exists at a time: the next one waits for the end of the last.
    const next = await take()
    mappers.save(next.process, files)
    expect((await readFile(files.pages))[0]).toBe(2)
    next.close()
  })

  it('is saved alike by several threads and by one', async () => {
    const { mapper, take } = await imaged('shared')
    for (let page = 0; page < 40; page += 1) await mapper.ask(`w ${page * 3} 2 1 ${page}`)
    const image = await take()
    const { files, counted } = mappers.save(image.process)
    const together = mappers.saveShared(image.process, [2, 0, 1])
    expect(together.counted).toEqual(counted)
    for (const name of ['pages', 'runs'] as const)
      expect(await readFile(together.files[name])).toEqual(await readFile(files[name]))
    image.close()
  })

  it('has only the memory of its process, no rights, and ends with its process or with the agent', async () => {
    const { mapper, take } = await imaged('confined')
    const image = await take()
    const parent = (await parentOf(image.process)) ?? 0
    const besides = await identify(parent)
    for (const { pid } of [image.process, besides]) {
      const status = await readFile(`/proc/${pid}/status`, 'latin1')
      expect(status).toMatch(/^NoNewPrivs:\s+1$/m)
      expect(status).toMatch(/^Seccomp:\s+2$/m)
      await eventually(async () => (await readdir(`/proc/${pid}/fd`)).length === 1)
      expect(await readlink(`/proc/${pid}/cwd`)).toBe('/')
    }
    await mapper.kill()
    await eventually(async () => !(await isAlive(besides)))
    expect(await isAlive(image.process)).toBe(true)
    image.close()
    await eventually(async () => !(await isAlive(image.process)))
  })

  it('must belong to the right process, and is absent if none is made', async () => {
    const { process: own, cwd } = await imaged('another')
    const { take } = await imaged('of-another')
    const image = await take()
    const answers = [`${image.process.pid}\n`, '1\n', 'x'.repeat(100), '']
    for (const answer of answers) {
      await rm(join(cwd, IMAGE_SOCKET), { force: true })
      const server = createServer((socket) => socket.end(answer)).listen(join(cwd, IMAGE_SOCKET))
      await once(server, 'listening')
      expect(await MemoryImage.take({ socket: async (name) => join(cwd, name), process: own }, deadline())).toBe(null)
      server.close()
      await once(server, 'close')
    }
    expect(await MemoryImage.take({ socket: async (name) => join(cwd, name), process: own }, deadline())).toBe(null)
    image.close()
  })
})
