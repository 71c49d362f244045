/** A user without root, who exists only for a test: no file of the host changes. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'

const run = promisify(execFile)
const repository = resolve(import.meta.dirname, '../..')
const NAME = 'offshoot-rootless'
/** No user of a Debian host has these ids. */
export const UID = 64_733
const FIRST_ID = 4_100_000
const IDS = 65_536
const FILES = ['passwd', 'group', 'subuid', 'subgid'] as const

/**
 * Runs a program in a mount namespace with the user's own files of /etc, a TAP device that everybody can open, as on an
 * ordinary host, and the repository at a path that everybody can reach. $1 is the folder, $2 the repository.
 */
const SCRIPT = `
folder=$1 repository=$2 program=$3
shift 3
case $program in "$repository"/*) program=$folder/repository\${program#"$repository"} ;; esac
mount --bind "$repository" "$folder/repository"
for name in ${FILES.join(' ')}; do mount --bind "$folder/etc/$name" "/etc/$name"; done
mount --bind "$folder/net" /dev/net
cd "$folder/home"
exec setpriv --reuid=${UID} --regid=${UID} --clear-groups --inh-caps=-all "$program" "$@"
`

export class RootlessUser {
  readonly folder: string
  readonly home: string

  private constructor(folder: string) {
    this.folder = folder
    this.home = join(folder, 'home')
  }

  static async create(): Promise<RootlessUser> {
    const user = new RootlessUser(await mkdtemp(join(tmpdir(), 'offshoot-rootless-')))
    await run('chmod', ['755', user.folder])
    for (const name of ['repository', 'etc', 'net', 'home']) await mkdir(join(user.folder, name))
    await run('chmod', ['700', user.home])
    await chown(user.home, UID, UID)
    await user.write(
      'passwd',
      `${await readFile('/etc/passwd', 'utf8')}${NAME}:x:${UID}:${UID}::${user.home}:/bin/sh\n`,
    )
    await user.write('group', `${await readFile('/etc/group', 'utf8')}${NAME}:x:${UID}:\n`)
    for (const name of ['subuid', 'subgid'] as const) {
      await user.write(name, `${NAME}:${FIRST_ID}:${IDS}\n`)
      // A mount needs a place.
      await writeFile(`/etc/${name}`, '', { flag: 'a' })
    }
    await user.makeTun('666')
    return user
  }

  async write(name: (typeof FILES)[number], content: string): Promise<void> {
    await writeFile(join(this.folder, 'etc', name), content)
  }

  async makeTun(mode: string): Promise<void> {
    const path = join(this.folder, 'net/tun')
    await rm(path, { force: true })
    await run('mknod', ['-m', mode, path, 'c', '10', '200'])
  }

  /** A program and its arguments that start a program as this user. */
  get under(): string[] {
    const unshare = ['unshare', '--mount', '--propagation', 'private', 'sh', '-eu', '-c', SCRIPT, 'sh']
    return [...unshare, this.folder, repository]
  }

  /** Environment of its programs. */
  get env(): Record<string, string> {
    // Debian gives users no folder of system programs.
    return { HOME: this.home, PATH: '/usr/local/bin:/usr/bin:/bin', NODE_COMPILE_CACHE: join(this.home, 'cache') }
  }

  /** Runs a program as this user. */
  async run(...command: readonly string[]): Promise<{ code: number | null; output: string; errors: string }> {
    const [program = '', ...args] = [...this.under, ...command]
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...this.env } })
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
    return { code: child.exitCode, output, errors }
  }

  /** Copies images that the user then owns. @param templates with their names */
  async copyImages(from: string, templates: readonly string[]): Promise<string> {
    const to = join(this.home, 'images')
    await mkdir(join(to, 'templates'), { recursive: true })
    for (const name of await readdir(from)) {
      const isWanted = name === '.stamps' || (await stat(join(from, name))).isFile()
      if (isWanted && name !== '.lock') await cp(join(from, name), join(to, name), { recursive: true })
    }
    for (const name of templates)
      await cp(join(from, 'templates', name), join(to, 'templates', name), { recursive: true })
    await run('chown', ['-R', `${UID}:${UID}`, to])
    return to
  }

  /** Processes of the user, and of the ids that are mapped for it. */
  async processes(): Promise<string[]> {
    const found: string[] = []
    for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
      const uid = Number(/^Uid:\s+(\d+)/m.exec(status)?.[1] ?? -1)
      const isDead = /^State:\s+[ZX]/m.test(status)
      if (isDead || (uid !== UID && (uid < FIRST_ID || uid >= FIRST_ID + IDS))) continue
      found.push(`${pid} ${(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ')}`)
    }
    return found
  }

  async destroy(): Promise<void> {
    const left = await this.processes()
    for (const each of left) process.kill(Number(each.split(' ')[0]), 'SIGKILL')
    await rm(this.folder, { recursive: true, force: true })
    if (left.length > 0) throw new Error(`processes left behind: ${left.map((each) => basename(each)).join(', ')}`)
  }
}
