/** @module-tag faults */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openEvents } from './setup/event-stream.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { SandboxFiles } from './setup/sandbox-files.ts'
import { borrow, giveBack } from './setup/server-pool.ts'

let offshoot: Offshoot
let files: SandboxFiles
beforeAll(async () => {
  offshoot = await borrow()
  files = new SandboxFiles(offshoot, (await offshoot.create({ template: 'base' })).id)
})
afterAll(giveBack)

const HOME = '/home/user'
const ownersOf = async (path: string) => (await files.sh(`stat -c '%U:%G %a' ${path}`)).trim()

describe('a file operation with `user`', () => {
  it('makes files and directories that belong to the user', async () => {
    for (const [method, route] of [
      ['PUT', `fs?path=${HOME}/a/b/file`],
      ['POST', `fs/mkdir?path=${HOME}/c/d&parents=1`],
      ['POST', `fs/move?path=${HOME}/a/b/file&to=${HOME}/e/moved&parents=1`],
    ] as const) {
      const { status } = await files.ask(method, `${route}&user=user`, method === 'PUT' ? { body: 'mine' } : {})
      expect(status).toBeLessThan(300)
    }
    const paths = ['a', 'a/b', 'c', 'c/d', 'e', 'e/moved']
    const owners = await Promise.all(paths.map((path) => ownersOf(`${HOME}/${path}`)))
    expect(owners.map((owner) => owner.split(' ')[0])).toEqual(paths.map(() => 'user:user'))
    expect((await files.ask('GET', `fs?path=${HOME}/e/moved&user=user`)).text).toBe('mine')
    expect(await files.sh(`su user -c 'echo more >> ${HOME}/e/moved && cat ${HOME}/e/moved'`)).toBe('minemore\n')
  })

  it('unpacks and archives as the user', async () => {
    await files.sh(`mkdir -p /tmp/packed/in && echo x > /tmp/packed/in/file && chmod 755 /tmp/packed`)
    const { bytes } = await files.download('fs/archive?path=/tmp/packed&user=user')
    const unpacked = await files.ask('PUT', `fs/archive?path=${HOME}/unpacked/here&user=user`, { body: bytes })
    expect(unpacked.status).toBe(200)
    for (const path of ['unpacked', 'unpacked/here', 'unpacked/here/in/file']) {
      expect(await ownersOf(`${HOME}/${path}`)).toMatch(/^user:user /)
    }
    await files.sh('chmod 600 /tmp/packed/in/file')
    expect((await files.open('fs/archive?path=/tmp/packed/in&user=user')).status).toBe(400)
  })

  it('has the rights of the user, with all groups', async () => {
    await files.sh(
      `mkdir -m 700 /root/closed && echo secret > /root/closed/file && mkdir -m 755 /srv/roots && echo 1 > /srv/roots/file
       groupadd -f crew && usermod -aG crew user && mkdir /srv/crew && chgrp crew /srv/crew && chmod 2770 /srv/crew`,
    )
    const put = { body: 'x' }
    for (const [method, route, call] of [
      ['GET', 'fs?path=/root/closed/file', {}],
      ['HEAD', 'fs?path=/root/closed/file', {}],
      ['GET', 'fs/stat?path=/root/closed/file', {}],
      ['GET', 'fs/dir?path=/root/closed', {}],
      ['GET', 'fs/watch?path=/root/closed', {}],
      ['PUT', 'fs?path=/srv/roots/file', put],
      ['PUT', 'fs?path=/srv/roots/a/b', put],
      ['POST', 'fs/mkdir?path=/srv/roots/d', {}],
      ['DELETE', 'fs?path=/srv/roots/file', {}],
      ['DELETE', 'fs?path=/srv/roots&recursive=1', {}],
      ['POST', `fs/move?path=/srv/roots/file&to=${HOME}/taken`, {}],
    ] as const) {
      for (const user of ['user', '1000']) {
        const answer = await files.ask(method, `${route}&user=${user}`, call)
        expect([route, answer.status]).toEqual([route, 400])
        if (method !== 'HEAD') expect(answer.body).toEqual({ error: 'permission denied' })
      }
    }
    expect(await files.sh('ls /srv/roots; cat /srv/roots/file')).toBe('file\n1\n')
    expect((await files.ask('PUT', 'fs?path=/srv/crew/file&user=user', put)).status).toBe(200)
    expect(await ownersOf('/srv/crew/file')).toBe('user:crew 644')
  })

  it('as the owner does what root may, and gets what is made and written', async () => {
    await files.sh('mkdir -m 700 /srv/site && echo 1 > /srv/site/old')
    expect((await files.ask('PUT', 'fs?path=/srv/site/a/new&owner=user', { body: 'x' })).status).toBe(200)
    expect((await files.ask('PUT', 'fs?path=/srv/site/old&owner=1000', { body: 'x' })).status).toBe(200)
    expect((await files.ask('POST', 'fs/mkdir?path=/srv/site/b&owner=user')).body).toMatchObject({ user: 'user' })
    expect(String((await files.download('fs?path=/srv/site/old&owner=user')).bytes)).toBe('x')
    expect(await files.sh('stat -c "%U %n" /srv/site /srv/site/*')).toBe(
      'root /srv/site\nuser /srv/site/a\nuser /srv/site/b\nuser /srv/site/old\n',
    )
  })

  it('refuses an unknown user, and relative paths as without one', async () => {
    await files.sh('mkdir /tmp/untouched')
    for (const [query, error] of [
      ['path=/tmp/untouched/new&user=nosuchuser', 'no such user: nosuchuser'],
      ['path=/tmp/untouched/new&user=%F0%9F%98%80', 'no such user: 😀'],
      ['path=/tmp/untouched/new&user=user&user=user', 'user must be given once'],
      [`path=/tmp/untouched/new&user=${'u'.repeat(65)}`, 'user must be at most 64 characters'],
      ['path=new&user=user', 'path must be absolute'],
      ['path=~/new&user=user', 'path must be absolute'],
    ] as const) {
      const answer = await files.ask('PUT', `fs?${query}`, { body: 'x' })
      expect([answer.status, answer.body]).toEqual([400, { error }])
    }
    expect(await files.sh(`ls /tmp/untouched; ls ${HOME}/new 2>&1 | grep -c 'No such'`)).toBe('1\n')
  })
})

describe('entries', () => {
  it('name owner and group, or give their numbers, and tell what a link leads to', async () => {
    await files.sh(
      `mkdir /tmp/owned && cd /tmp/owned && touch of-user of-nobody && chown user:games of-user && chown 4242:4243 of-nobody
       mkdir -m 711 folder && ln -s folder to-folder && ln -s missing broken`,
    )
    const { body } = await files.ask('GET', 'fs/dir?path=/tmp/owned')
    const [broken, folder, nobody, user, link] = body.entries
    expect(user).toMatchObject({ name: 'of-user', uid: 1000, gid: 60, user: 'user', group: 'games' })
    expect(nobody).toMatchObject({ name: 'of-nobody', uid: 4242, gid: 4243, user: '4242', group: '4243' })
    expect(folder.mtime).toBe(Math.floor(folder.mtime_ms / 1000))
    expect(link).toMatchObject({ type: 'symlink', target: 'folder', target_path: '/tmp/owned/folder' })
    expect(link).toMatchObject({ target_type: 'dir', target_mode: '0711' })
    expect(broken.target).toBe('missing')
    expect(broken).not.toHaveProperty('target_type')
    for (const entry of body.entries) {
      expect((await files.ask('GET', `fs/stat?path=${entry.path}`)).body).toEqual(entry)
    }
  })

  it('are listed down to a depth, with their paths, without following links', async () => {
    await files.sh(
      'mkdir -p /tmp/deep/a/b/c && cd /tmp/deep && touch a/1 a/b/2 a/b/c/3 && ln -s .. a/up && ln -s / root',
    )
    const paths = async (query: string) =>
      (await files.ask('GET', `fs/dir?path=/tmp/deep${query}`)).body.entries.map(({ path }: { path: string }) => path)
    expect(await paths('')).toEqual(['/tmp/deep/a', '/tmp/deep/root'])
    expect(await paths('&depth=2')).toEqual([
      '/tmp/deep/a',
      '/tmp/deep/a/1',
      '/tmp/deep/a/b',
      '/tmp/deep/a/up',
      '/tmp/deep/root',
    ])
    expect(await paths('&depth=100')).toHaveLength(8)
    for (const depth of ['0', '101', 'x', '2&depth=2']) {
      const answer = await files.ask('GET', `fs/dir?path=/tmp/deep&depth=${depth}`)
      expect([answer.status, answer.body]).toEqual([400, { error: 'depth must be an integer from 1 to 100' }])
    }
  })

  it('of too large a tree are refused', { tags: ['long'] }, async () => {
    // 1000 files that appear in 101 directories.
    await files.sh(
      `python3 -c "
import ctypes, os
os.makedirs('/tmp/thousand'); os.mkdir('/tmp/huge')
for i in range(1000): open('/tmp/thousand/%d' % i, 'w').close()
for i in range(101):
  os.mkdir('/tmp/huge/d%d' % i)
  MS_BIND = 4096
  assert ctypes.CDLL(None).mount(b'/tmp/thousand', b'/tmp/huge/d%d' % i, None, MS_BIND, None) == 0"`,
    )
    const answer = await files.ask('GET', 'fs/dir?path=/tmp/huge&depth=2')
    expect([answer.status, answer.body]).toEqual([400, { error: 'directory has more than 100000 entries' }])
    expect((await files.ask('GET', 'fs/dir?path=/tmp/huge/d7&depth=2')).body.entries).toHaveLength(1000)
  })

  it('take names from malformed account files where they can', async () => {
    const { id } = await offshoot.create()
    const broken = new SandboxFiles(offshoot, id)
    const lines = [
      'root:x:0:0::/root:/bin/sh',
      'nocolon',
      ':x:7000:1',
      'nonumber:x::1',
      'negative:x:-1:1',
      'toolarge:x:99999999999999999999:1',
      'first:x:7000:1',
      'second:x:7000:1',
      `${'n'.repeat(256)}:x:7001:1`,
      'last:x:7002:7002',
    ]
    await broken.ask('PUT', 'fs?path=/etc/passwd', { body: lines.join('\n') })
    await broken.sh('mkdir /tmp/o && cd /tmp/o && touch a b c && chown 7000 a && chown 7001 b && chown 7002 c')
    await broken.sh('rm -f /etc/group && mkfifo /etc/group')
    const { body } = await broken.ask('GET', 'fs/dir?path=/tmp/o')
    expect(body.entries.map(({ user, group }: Record<string, string>) => [user, group])).toEqual([
      ['first', '0'],
      ['7001', '0'],
      ['last', '0'],
    ])
    await broken.sh('rm /etc/passwd && ln -s /dev/zero /etc/passwd')
    expect((await broken.ask('GET', 'fs/stat?path=/tmp/o/a')).body).toMatchObject({ uid: 7000, user: '7000' })
    await broken.sh('rm /etc/passwd && truncate -s 10G /etc/passwd')
    expect((await broken.ask('GET', 'fs/stat?path=/tmp/o/a')).body).toMatchObject({ uid: 7000, user: '7000' })
  })
})

it('a watch reports written files, and no temporary names', async () => {
  await files.sh(`mkdir -p /tmp/watched/sub && echo old > /tmp/watched/old && chown -R user /tmp/watched`)
  const { api_key } = offshoot.credentials
  const route = `fs/watch?path=/tmp/watched&recursive=1&user=user&access_token=${api_key}`
  const stream = await openEvents(offshoot, 'GET', files.at(route))
  for (const name of ['new', 'old', 'sub/new']) {
    const { status } = await files.ask('PUT', `fs?path=/tmp/watched/${name}&user=user`, { body: 'x'.repeat(100_000) })
    expect(status).toBe(200)
  }
  await files.sh('touch /tmp/watched/last')
  const seen: string[] = []
  while (!seen.includes('created /tmp/watched/last')) {
    const { value } = await stream.next()
    seen.push(`${value.event} ${value.data.path}`)
  }
  expect(seen).toEqual([
    'created /tmp/watched/new',
    'modified /tmp/watched/old',
    'created /tmp/watched/sub/new',
    'created /tmp/watched/last',
  ])
  await files.sh('rm -rf /tmp/watched')
  await stream.rest()
})
