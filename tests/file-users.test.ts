import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SandboxFiles } from './setup/sandbox-files.ts'
import { borrow, giveBack } from './setup/server-pool.ts'

let files: SandboxFiles
beforeAll(async () => {
  const offshoot = await borrow()
  files = new SandboxFiles(offshoot, (await offshoot.create()).id)
})
afterAll(giveBack)

describe('files', () => {
  it('are listed down to a depth, without following links, and without what the user may not read', async () => {
    await files.sh(
      'mkdir -p /tmp/deep2/a/b/c /tmp/deep2/closed/x && cd /tmp/deep2 && : > a/b/f && ln -s / a/root && chmod 700 closed',
    )
    const paths = async (query: string) =>
      (await files.ask('GET', `fs/dir?path=/tmp/deep2${query}`)).body.entries.map(({ path }: { path: string }) => path)
    const [top, second] = [
      ['/tmp/deep2/a', '/tmp/deep2/closed'],
      ['/tmp/deep2/a/b', '/tmp/deep2/a/root'],
    ]
    expect(await paths('')).toEqual(top)
    expect(await paths('&depth=2')).toEqual([top[0], ...second, top[1], '/tmp/deep2/closed/x'])
    expect(await paths('&depth=2&user=1000')).toEqual([top[0], ...second, top[1]])
    const all = ['/tmp/deep2/a', '/tmp/deep2/a/b', '/tmp/deep2/a/b/c', '/tmp/deep2/a/b/f', '/tmp/deep2/a/root']
    expect(await paths('&depth=64')).toEqual([...all, '/tmp/deep2/closed', '/tmp/deep2/closed/x'])
  })

  it('belong to the user who makes them, who may do what their rights allow', async () => {
    await files.sh(
      'echo "ann:x:1234:1234::/tmp:/bin/sh" >> /etc/passwd; echo "team:x:1234:" >> /etc/group; mkdir -m 777 /tmp/shared; echo s > /tmp/secret; chmod 600 /tmp/secret',
    )
    const written = await files.ask('PUT', 'fs?path=/tmp/shared/new/file&user=ann', { body: 'x' })
    expect(written.status).toBe(200)
    const owner = { uid: 1234, gid: 1234, user: 'ann', group: 'team' }
    for (const path of ['/tmp/shared/new', '/tmp/shared/new/file'])
      expect((await files.ask('GET', `fs/stat?path=${path}`)).body).toMatchObject(owner)
    expect((await files.ask('POST', 'fs/mkdir?path=/tmp/shared/d&user=1234')).body).toMatchObject(owner)
    const moved = await files.ask('POST', 'fs/move?path=/tmp/shared/new/file&to=/tmp/shared/d/file&user=ann')
    expect(moved.body).toMatchObject({ path: '/tmp/shared/d/file', ...owner })
    for (const [method, route] of [
      ['GET', 'fs?path=/tmp/secret'],
      ['PUT', 'fs?path=/tmp/secret'],
      ['DELETE', 'fs?path=/root/x'],
      ['POST', 'fs/mkdir?path=/root/d'],
      ['POST', 'fs/move?path=/tmp/shared/d/file&to=/root/f'],
      ['GET', 'fs/dir?path=/root'],
      ['GET', 'fs/archive?path=/root'],
      ['GET', 'fs/watch?path=/root'],
    ] as const) {
      const answer = await files.ask(method, `${route}&user=ann`, method === 'PUT' ? { body: 'y' } : {})
      expect([route, answer.status, answer.body]).toEqual([route, 400, { error: 'permission denied' }])
    }
    expect(await files.sh('cat /tmp/secret')).toBe('s\n')
    expect((await files.ask('DELETE', 'fs?path=/tmp/shared/d&recursive=1&user=ann')).status).toBe(204)
  })
})
