import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Thread } from './thread.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-thread-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const deadline = Deadline.after(60_000, 'test')

describe('a thread', () => {
  it('returns to each caller its own answer, and errors with their code', async () => {
    const thread = new Thread()
    const contents = ['', 'a', 'b'.repeat(3_000_000)]
    for (const [index, content] of contents.entries()) await writeFile(join(folder, String(index)), content)
    const ask = (name: string) => thread.ask('seal', { path: join(folder, name) }, deadline)
    const missing = ask('missing').catch((error: unknown) => error)
    const seals = await Promise.all(contents.map((_content, index) => ask(String(index))))
    expect(seals).toEqual(
      contents.map((content) => ({
        bytes: content.length,
        sha256: createHash('sha256').update(content).digest('hex'),
      })),
    )
    expect(await missing).toMatchObject({ code: 'ENOENT' })
  })

  it('ends the wait at the deadline, and answers the next call', async () => {
    const thread = new Thread()
    const asked = { path: join(folder, '2') }
    await writeFile(asked.path, 'c')
    const over = Deadline.after(0, 'too late')
    await expect(thread.ask('seal', asked, over)).rejects.toThrow('too late')
    expect(await thread.ask('seal', asked, deadline)).toMatchObject({ bytes: 1 })
  })

  it('refuses calls above its limit', async () => {
    const thread = new Thread()
    const asked = { path: join(folder, '3') }
    await writeFile(asked.path, 'd')
    const answers = await Promise.allSettled(Array.from({ length: 300 }, () => thread.ask('seal', asked, deadline)))
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(256)
    expect(await thread.ask('seal', asked, deadline)).toMatchObject({ bytes: 1 })
  })
})
