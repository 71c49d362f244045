import { createReadStream } from 'node:fs'
import { link, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { identifyProcess } from '@offshoot/kit/process-identity'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Mapper, Mappers } from '../../test/memory-mappers.ts'
import { KEPT_FILES, KEPT_PIPES } from '../vm/machine.ts'
import { KeptPipes, openPipe } from './keep-imaged.ts'
import type { Keeping } from './keep-memory.ts'
import { MemoryImage } from './memory-image.ts'

let mappers: Mappers
let lastNumber = 0
beforeAll(async () => {
  mappers = await Mappers.open()
})
afterEach(() => mappers.end())
afterAll(() => mappers.close())

const deadline = () => Deadline.after(60_000, 'test')

/** A process that has pages of its own, and an image of it. */
async function imaged() {
  const folder = join(mappers.folder, `imaged-${++lastNumber}`)
  await mkdir(folder)
  const mapper = await (await mappers.start(undefined, { images: folder })).ready()
  await mapper.ask('w 100 200 1 1')
  const process = await identifyProcess(mapper.pid)
  if (process === null) throw new Error('the process has ended')
  const image = await MemoryImage.take({ socket: async (name) => join(folder, name), process }, deadline())
  if (image === null) throw new Error('no image was made')
  const { files } = mappers.save(image.process)
  const shared = async () => mappers.sharedSince(mapper, image.process, files)
  return { mapper, folder, image, files, shared }
}

/** A monitor of a process. @param opens the command that the process runs for `blockdev-add` */
function monitorOf(mapper: Mapper, opens: string): Keeping['qmp'] {
  const execute = async (command: string) => {
    if (command === 'blockdev-add' && (await mapper.ask(opens)) !== 1) throw new Error('no such file')
    return {}
  }
  return { execute }
}

type Imaged = Awaited<ReturnType<typeof imaged>>

async function keep(
  { mapper, folder, files }: Imaged,
  answer: () => Promise<Uint8Array>,
  opens = 'i',
): Promise<boolean> {
  const pipes = await KeptPipes.make(folder, deadline())
  try {
    const vm = { folder, qmp: monitorOf(mapper, opens) }
    return await pipes.keep(vm, files, answer, deadline())
  } finally {
    await pipes.close()
  }
}

const read = (mapper: Mapper, pages: readonly number[]) => Promise.all(pages.map((page) => mapper.ask(`r ${page}`)))

/** How many pages the next capture of the process has to write. */
const unkept = ({ mapper, files }: Imaged) => mappers.saveOver(mapper, [files]).counted.pages

describe.runIf(process.getuid?.() === 0)('memory that QEMU keeps after a copy from an image', () => {
  it('is all that was not written since', async () => {
    const of = await imaged()
    await of.mapper.ask('w 150 1 1 2')
    await of.mapper.ask('w 299 2 1 3')
    await of.mapper.ask('d 200 1')
    expect(await keep(of, of.shared)).toBe(true)
    of.image.close()
    const pages = [99, 100, 149, 150, 151, 199, 200, 201, 298, 299, 300]
    expect(await read(of.mapper, pages)).toEqual([7, 1, 1, 2, 1, 1, 7, 1, 1, 3, 3])
    // Also the page that was given up, because it is that of the bake in the middle of the layer.
    expect(unkept(of)).toBe(4)
    expect((await readdir(of.folder)).filter((name) => name.startsWith('kept-'))).toEqual([])
  })

  it('is no more than QEMU was told before the agent ended', { tags: ['faults'] }, async () => {
    const of = await imaged()
    expect(await keep(of, () => Promise.reject(new Error('the thread ended')))).toBe(false)
    expect(unkept(of)).toBe(200)
    const half = async () => (await of.shared()).subarray(0, 100)
    expect(await keep(of, half)).toBe(true)
    of.image.close()
    expect(await read(of.mapper, [99, 100, 199, 200, 299, 300])).toEqual([7, 1, 1, 1, 1, 7])
    expect(unkept(of)).toBe(100)
  })

  it('is told to QEMU page by page, also if that reads late', async () => {
    const of = await imaged()
    // More than a pipe holds.
    const told = Uint8Array.from({ length: 200_000 }, (_, page) => page % 3)
    const asked = Promise.withResolvers<void>()
    const heard: Buffer[] = []
    const execute = async (command: string) => {
      if (command !== 'blockdev-add') return {}
      const same = createReadStream(join(of.folder, KEPT_PIPES.same))
      await writeFile(join(of.folder, KEPT_PIPES.asks), '?')
      await asked.promise
      for (let i = 0; i < 50; i++) await turn()
      for await (const bytes of same) heard.push(bytes as Buffer)
      return {}
    }
    const answer = async () => {
      asked.resolve()
      return told
    }
    const pipes = await KeptPipes.make(of.folder, deadline())
    const vm = { folder: of.folder, qmp: { execute: execute as Keeping['qmp']['execute'] } }
    expect(await pipes.keep(vm, of.files, answer, deadline())).toBe(true)
    await pipes.close()
    of.image.close()
    expect(Buffer.concat(heard).equals(told)).toBe(true)
  })

  it('is nothing if QEMU does not know the path, or does not ask', { tags: ['faults'] }, async () => {
    const of = await imaged()
    const [refuses, doesNotAsk] = ['r 99', 'r 100']
    for (const opens of [refuses, doesNotAsk]) expect(await keep(of, of.shared, opens)).toBe(false)
    of.image.close()
    expect(unkept(of)).toBe(200)
  })

  it('is nothing without the pipes, and others may have been left behind', { tags: ['faults'] }, async () => {
    const of = await imaged()
    for (const name of ['pages', 'runs'] as const) await link(of.files[name], join(of.folder, KEPT_FILES[name]))
    expect(await of.mapper.ask('i')).toBe(0)
    await writeFile(join(of.folder, KEPT_PIPES.asks), '')
    expect(await keep(of, of.shared)).toBe(true)
    of.image.close()
    expect(unkept(of)).toBe(0)
  })

  it('uses nothing but pipes, whatever QEMU has put in their place', { tags: ['faults'] }, async () => {
    const { folder, image } = await imaged()
    image.close()
    const [file, link] = [join(folder, 'file'), join(folder, 'link')]
    await writeFile(file, 'a file of the host')
    await symlink(file, link)
    expect(() => openPipe(file, 'writable')).toThrow('is no pipe')
    expect(() => openPipe(link, 'writable')).toThrow('ELOOP')
    expect(await readFile(file, 'utf8')).toBe('a file of the host')
  })

  it('does not wait for a QEMU that asks, and does not read', { tags: ['faults'] }, async () => {
    const of = await imaged()
    const more = new Uint8Array(200_000)
    const execute = async (command: string) => {
      if (command === 'blockdev-add') await writeFile(join(of.folder, KEPT_PIPES.asks), '?')
      return {}
    }
    const pipes = await KeptPipes.make(of.folder, deadline())
    const vm = { folder: of.folder, qmp: { execute: execute as Keeping['qmp']['execute'] } }
    const kept = pipes.keep(vm, of.files, async () => more, Deadline.after(500, 'keeping'))
    await expect(kept).rejects.toThrow('keeping')
    await pipes.close()
    of.image.close()
    expect(unkept(of)).toBe(200)
  })
})
