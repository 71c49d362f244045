import { execFileSync } from 'node:child_process'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { FileChange } from './file-change.ts'
import type { FileWatch } from './file-watch.ts'
import type { GuestLink } from './link.ts'
import { HostGuest, deadlineFor } from './testing/host-guest.ts'
import { until } from './testing/observe.ts'

let guest: HostGuest
let link: GuestLink
let home: string

beforeEach(async () => {
  guest = await HostGuest.start()
  link = await guest.connect()
  home = join(guest.root, 'home')
  await mkdir(home)
})

afterEach(async () => {
  await guest.stop()
  link.close()
})

const sh = (script: string) => execFileSync('bash', ['-c', script], { cwd: home })

/** Collects changes as lines. */
function linesOf(watch: FileWatch): { lines: string[]; ended: Promise<void> } {
  const lines: string[] = []
  const read = async () => {
    for await (const change of watch.changes) lines.push(lineOf(change))
  }
  return { lines, ended: read() }
}

function lineOf(change: FileChange): string {
  if (change.kind === 'overflow') return 'overflow'
  const path = change.path.toString('latin1') + (change.isFolder ? '/' : '')
  return change.kind === 'moved' ? `moved ${path} ${change.target.toString('latin1')}` : `${change.kind} ${path}`
}

const comes = (lines: string[], line: string) => until(line, () => lines.includes(line))

describe('watch', () => {
  it('reports created, modified, moved and deleted files with any name', async () => {
    const { lines, ended } = linesOf(await link.files.watch(home))
    sh(`: > a; echo x >> a; mv a b; mkdir d; mv b d/b; mv d/b c; chmod 600 c; rm c; : > $'\\377\\n'`)
    await comes(lines, 'created \u00ff\n')
    expect(lines.filter((line, i) => line !== lines[i - 1])).toEqual([
      'created a',
      'modified a',
      'moved a b',
      'created d/',
      'deleted b',
      'created c',
      'modified c',
      'deleted c',
      'created \u00ff\n',
    ])
    await rm(home, { recursive: true })
    await deadlineFor('the end').race(ended)
  })

  it('watches new folders without losing their first entries, and follows moved folders', async () => {
    await mkdir(join(home, 'old/deep'), { recursive: true })
    const watch = await link.files.watch(home, { recursive: true })
    const { lines, ended } = linesOf(watch)
    sh('mkdir -p n/e/w; : > n/e/w/file; : > old/deep/file')
    await comes(lines, 'created n/e/w/file')
    await comes(lines, 'created old/deep/file')
    await rename(join(home, 'old'), join(home, 'n/moved'))
    await comes(lines, 'moved old/ n/moved')
    await writeFile(join(home, 'n/moved/deep/more'), '')
    await comes(lines, 'created n/moved/deep/more')
    await rename(join(home, 'n'), join(guest.root, 'outside'))
    await comes(lines, 'deleted n/')
    await writeFile(join(guest.root, 'outside/unseen'), '')
    await writeFile(join(home, 'last'), '')
    await comes(lines, 'created last')
    expect(lines.join()).not.toContain('unseen')
    watch.close()
    await deadlineFor('the end').race(ended)
  })

  it('loses no change when they are read, and reports `overflow` when they are not', { tags: ['faults'] }, async () => {
    const watch = await link.files.watch(home, { recursive: true })
    const { lines } = linesOf(watch)
    sh('for i in $(seq 40); do mkdir d$i; for k in $(seq 50); do : > d$i/f$k; done; done; : > last')
    await comes(lines, 'created last')
    const wanted = Array.from({ length: 2000 }, (_, i) => `created d${Math.floor(i / 50) + 1}/f${(i % 50) + 1}`)
    await until('all files', () => {
      const seen = new Set(lines)
      return lines.includes('overflow') || wanted.every((line) => seen.has(line))
    })
    watch.close()

    const unread = await link.files.watch(home)
    sh(`python3 -c "
import os
for i in range(20000):
  n = 'x%d' % i + 'y' * 100
  open(n, 'w').close(); os.unlink(n)
"`)
    const late = linesOf(unread)
    await comes(late.lines, 'overflow')
    unread.close()
  })

  it('reports no temporary names of files that are written', async () => {
    await writeFile(join(home, 'old'), 'old')
    await writeFile(join(home, '#12'), '')
    const watch = await link.files.watch(home, { recursive: true })
    const { lines } = linesOf(watch)
    await link.files.write(join(home, 'new'), Readable.from(['a', 'b']))
    await link.files.write(join(home, 'old'), Readable.from(['a', 'b']))
    await link.files.write(join(home, 'd/deep'), Readable.from(['x']), { parents: true })
    sh(`python3 -c "
import os
fd = os.open('.', os.O_TMPFILE | os.O_WRONLY)
os.write(fd, b'x')
os.link('/proc/self/fd/%d' % fd, 'linked', src_dir_fd=fd)
os.close(os.open('.', os.O_TMPFILE | os.O_WRONLY))
"`)
    // Files whose names only look like temporary ones.
    sh(`echo x >> '#12'; : > '#'; : > '#13x'; mkdir .offshoot-${'0'.repeat(32)}; : > last`)
    await comes(lines, 'created last')
    expect(lines.filter((line, i) => line !== lines[i - 1])).toEqual([
      'created new',
      'modified old',
      'created d/',
      'created d/deep',
      'created linked',
      'modified #12',
      'created #',
      'created #13x',
      `created .offshoot-${'0'.repeat(32)}/`,
      'created last',
    ])
    watch.close()
  })

  it('refuses a missing path or a file, and ends after close', async () => {
    await writeFile(join(home, 'file'), '')
    await expect(link.files.watch(join(home, 'missing'))).rejects.toMatchObject({ code: 'ENOENT' })
    await expect(link.files.watch(join(home, 'file'))).rejects.toMatchObject({ code: 'ENOTDIR' })
    const watch = await link.files.watch(home)
    watch.close()
    for await (const change of watch.changes) expect(change).toBeUndefined()
  })
})
