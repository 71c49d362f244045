import { execFileSync } from 'node:child_process'
import { lstat, mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { GuestFileError } from './guest-file-error.ts'
import type { GuestLink } from './link.ts'
import { HostGuest, deadlineFor } from './testing/host-guest.ts'
import { fileErrorCode, hasChildren, until } from './testing/observe.ts'

let guest: HostGuest
let link: GuestLink
let home: string

beforeEach(async () => {
  guest = await HostGuest.start()
  link = await guest.connect()
  home = join(guest.root, 'home')
  await mkdir(join(home, 'to'), { recursive: true })
})

afterEach(async () => {
  await guest.stop()
  link.close()
})

const at = (name: string) => join(home, name)
const sh = (script: string) => execFileSync('bash', ['-c', script], { cwd: home, maxBuffer: 2 ** 26 })
const soon = () => deadlineFor('archive')

/** Lists kind, mode, time, link target and content of everything below a folder. */
const pictureOf = (name: string) =>
  sh(
    `cd ${name} && find . -mindepth 1 -printf '%p|%y|%m|%l|%T@\\n' | sed 's/\\.0*$//' | sort; find . -type f -print0 | sort -z | xargs -0 -r sha1sum`,
  )
    .toString()
    .replaceAll(/(\|d\|.*)\|[^|]*$/gm, '$1')

const tree = String.raw`
  mkdir -p from/a/b "from/with space" from/${'n'.repeat(120)}/${'m'.repeat(200)}
  echo one > from/a/one; head -c 100000 /dev/urandom > from/a/b/random; : > from/empty
  echo long > from/${'n'.repeat(120)}/${'m'.repeat(200)}/file
  printf x > from/$'new\nline'; printf y > from/$'\377\376'
  ln -s a/one from/link; ln -s ${'t'.repeat(300)} from/longlink; ln -s /etc from/out
  chmod 640 from/a/one; chmod 755 from/a/b/random; mkdir -m 500 from/closed
  find from -type f -exec touch -d @1600000000 {} +; find from -type l -exec touch -h -d @1600000000 {} +; mkfifo from/fifo`

describe('archive and unpack', () => {
  it('copy a tree unchanged, together and with tar at either end', async () => {
    sh(tree)
    sh('rm -f from/fifo.ignored; mkdir by-tar by-us from-tar; cp -a from wanted; rm wanted/fifo')
    const wanted = pictureOf('wanted').replaceAll(/^(.*\|l\|.*)\|[\d.]+$/gm, '$1')
    const bytes = await soon().race(buffer(await link.files.archive(at('from'))))
    await writeFile(at('ours.tar'), bytes)
    sh('tar -xpf ours.tar -C by-tar; tar -C wanted -cf theirs.tar .; tar -C wanted --format=gnu -cf gnu.tar .')
    const seen = (name: string) => pictureOf(name).replaceAll(/^(.*\|l\|.*)\|[\d.]+$/gm, '$1')
    expect(seen('by-tar')).toBe(wanted)
    for (const archive of ['ours.tar', 'theirs.tar', 'gnu.tar']) {
      sh('rm -rf by-us; mkdir by-us')
      const done = await link.files.unpack(at('by-us'), Readable.from([await readFile(at(archive))]), {
        deadline: soon(),
      })
      expect(done.bytes).toBe(100_000 + 4 + 5 + 1 + 1)
      expect(seen('by-us')).toBe(wanted)
    }
  })

  it('refuse a missing path, a path that is not a folder, and a broken archive', async () => {
    await writeFile(at('file'), 'x')
    expect(await fileErrorCode(link.files.archive(at('missing')))).toBe('ENOENT')
    expect(await fileErrorCode(link.files.archive(at('file')))).toBe('ENOTDIR')
    expect(await fileErrorCode(link.files.unpack(at('missing'), Readable.from([])))).toBe('ENOENT')
    expect(await fileErrorCode(link.files.unpack(at('to'), Readable.from([])))).toBe('EBADMSG')
    expect(await fileErrorCode(link.files.unpack(at('to'), Readable.from([Buffer.alloc(2048, 'no archive')])))).toBe(
      'EBADMSG',
    )
    const whole = sh('echo content > x; tar -c x')
    for (const cut of [1, 100, 512, 515, 1024, 1030]) {
      expect(await fileErrorCode(link.files.unpack(at('to'), Readable.from([whole.subarray(0, cut)])))).toBe('EBADMSG')
    }
  })

  it('unpack puts a file in place when it is complete, and leaves nothing of one that is not', async () => {
    sh('echo new > old; head -c 300000 /dev/zero > late; tar -cf both.tar old late; rm old late')
    const archive = await readFile(at('both.tar'))
    for (const end of ['break off', 'fail', 'die'] as const) {
      sh('cd to; rm -rf *; ln -s nowhere old; echo complete > late')
      const source = new PassThrough()
      const failure = link.files.unpack(at('to'), source).catch((error: unknown) => error)
      source.write(archive.subarray(0, 200_000))
      await until('the guest to take bytes', () => source.writableLength === 0)
      await until('the first file', () => sh('cat to/old 2>/dev/null || true').toString() === 'new\n')
      expect(await readFile(at('to/late'), 'utf8')).toBe('complete\n')
      if (end === 'break off') source.end()
      else if (end === 'fail') source.destroy(new Error('the client hung up'))
      else link.close()
      expect(await soon().race(failure)).toBeInstanceOf(Error)
      if (end === 'die') link = await guest.connect()
      await until('the child to end', () => !hasChildren(guest.pid))
      expect(sh('cd to; ls -A; cat late').toString()).toBe('late\nold\ncomplete\n')
    }
  })

  it.each([
    ['a name with ..', `tar -cPf evil.tar --transform 's,evil,../evil,' evil`, 'EXDEV'],
    [
      'a name below a link that leads outside',
      'ln -s .. up; tar -cf evil.tar up; rm up; mkdir up; echo x > up/evil; tar -rf evil.tar up/evil',
      'EXDEV',
    ],
    [
      'a name below an absolute link',
      'ln -s /tmp up; tar -cf evil.tar up; rm up; mkdir up; echo x > up/evil; tar -rf evil.tar up/evil',
      'EXDEV',
    ],
    [
      'a hard link to a file outside',
      `ln evil evil2; tar -cPf evil.tar --transform 'flags=h;s,evil,../evil,' evil evil2; tar --delete -f evil.tar evil`,
      'EXDEV',
    ],
  ])('unpack refuses to leave its folder: %s', async (_what, script, code) => {
    sh(`echo evil > evil; ${script}; rm -rf evil evil2 up`)
    expect(await fileErrorCode(link.files.unpack(at('to'), Readable.from([await readFile(at('evil.tar'))])))).toBe(code)
    expect((await readdir(home)).sort()).toEqual(['evil.tar', 'to'])
  })

  it('keep a file that is a hard link to itself', async () => {
    sh(`echo kept > to/file; tar -cf file.tar -C to file`)
    // The header of the file, changed to that of a hard link.
    const header = Buffer.from((await readFile(at('file.tar'))).subarray(0, 512))
    header[156] = '1'.charCodeAt(0)
    header.write('file', 157)
    header.fill('0', 124, 135)
    header.fill(' ', 148, 156)
    header.write(
      `${header
        .reduce((sum, byte) => sum + byte, 0)
        .toString(8)
        .padStart(6, '0')}\0 `,
      148,
    )
    await link.files.unpack(at('to'), Readable.from([Buffer.concat([header, Buffer.alloc(1024)])]))
    expect(await readFile(at('to/file'), 'utf8')).toBe('kept\n')
  })

  it('drop leading slashes, and do not write through a link', async () => {
    await writeFile(at('victim'), 'safe')
    await symlink('../victim', at('to/file'))
    sh(`echo new > file; tar -cPf abs.tar --transform 's,^,/,' file`)
    await link.files.unpack(at('to'), Readable.from([await readFile(at('abs.tar'))]))
    expect([await readFile(at('victim'), 'utf8'), await readFile(at('to/file'), 'utf8')]).toEqual(['safe', 'new\n'])
  })

  it('make the user the owner, without set-id bits', async () => {
    sh('chmod 711 .. . ; chown nobody to; echo x > file; chmod 6755 file; ln -s file link; tar -cf own.tar file link')
    const archive = Readable.from([await readFile(at('own.tar'))])
    expect(await link.files.unpack(at('to'), archive, { user: 'nobody' })).toEqual({ entries: 2, bytes: 2 })
    const about = await lstat(at('to/file'))
    expect([about.uid, about.mode & 0o7777, await readlink(at('to/link'))]).toEqual([65_534, 0o755, 'file'])
  })

  it('fail the stream when a file cannot be read', async () => {
    sh('chmod 711 ..; mkdir from; echo x > from/secret; chmod 600 from/secret')
    const stream = await link.files.archive(at('from'), { user: 'nobody' }).catch((error: unknown) => error)
    const error = stream instanceof Readable ? await fileErrorCode(buffer(stream)) : (stream as GuestFileError).code
    expect(error).toBe('EACCES')
  })
})
