import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Finding, ok, problem, type Subject, warning } from './finding.ts'
import { lastLine, runQuietly } from './run-quietly.ts'

/** Downloads with apt's own settings (proxies, certificates), into a folder of the caller. */
const APT_HELPER = '/usr/lib/apt/apt-helper'
const ANSWER_MS = 30_000
/** A small package that every registry has. */
const KNOWN_PACKAGE = 'zod'

export async function checkNpmRegistry({ stop, isInstalled }: Subject): Promise<Finding> {
  const npm = ['npm', 'view', KNOWN_PACKAGE, 'name', '--fetch-retries=0', '--fetch-timeout=10000', '--prefer-online']
  const answer = await runQuietly(npm as [string, ...string[]], stop, { withinMs: ANSWER_MS })
  if (!(answer instanceof Error)) return ok('npm-registry', 'the npm registry answers')
  const finding = `the npm registry does not answer: ${/npm (?:error|ERR!) (?:network )?(.+)/.exec(answer.message)?.[1] ?? lastLine(answer)}`
  return isInstalled
    ? warning('npm-registry', `${finding}; all packages are installed`, 'Only an upgrade needs it')
    : problem('npm-registry', finding, 'Set the registry or proxy of npm (npm config set registry URL)')
}

export async function checkDebianMirror({ stop, hasImages }: Subject): Promise<Finding> {
  const targets = await runQuietly(
    ['apt-get', 'indextargets', '--format', '$(REPO_URI)|$(RELEASE)', 'Created-By: Packages', 'Origin: Debian'],
    stop,
  )
  const [uri, release] = targets instanceof Error ? [] : (targets.split('\n')[0]?.split('|') ?? [])
  const refuse = hasImages ? warning : problem
  const needed = hasImages
    ? 'Only a new build of the images needs it'
    : 'Correct /etc/apt/sources.list, and run apt-get update'
  if (!uri || !release) return refuse('debian-mirror', 'apt knows no mirror of Debian', needed)
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-doctor-'))
  try {
    const url = `${uri.replace(/\/$/, '')}/dists/${release}/InRelease`
    const line = [APT_HELPER, 'download-file', url, join(folder, 'InRelease')] as const
    const fetched = await runQuietly(line, stop, { withinMs: ANSWER_MS })
    const text = await readFile(join(folder, 'InRelease'), 'utf8').catch(() => '')
    if (!(fetched instanceof Error) && text.includes('Origin:'))
      return ok('debian-mirror', 'the mirror of Debian answers')
    const reason = fetched instanceof Error ? `: ${lastLine(fetched)}` : ''
    return refuse('debian-mirror', `the mirror of Debian does not answer${reason}`, needed)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
