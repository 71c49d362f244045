import { readFile } from 'node:fs/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { runCommand } from '../base/run-command.ts'

const FORMAT = '$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)'

/**
 * The host's apt sources for a Debian release, as lines for mmdebstrap, because the host can reach these mirrors. Empty
 * if the host runs another release; mmdebstrap then uses Debian's own.
 */
export async function debianMirror(suite: string): Promise<readonly string[]> {
  if ((await hostRelease()) !== suite) return []
  const targets = await runCommand('apt-get', ['indextargets', '--format', FORMAT, 'Created-By: Packages'], {
    deadline: Deadline.after(20_000, 'reading the apt sources'),
  })
  return sourceLines(targets, suite)
}

/** @param targets lines of origin, address, release and component, from apt-get indextargets */
export function sourceLines(targets: string, suite: string): readonly string[] {
  const sources = targets
    .split('\n')
    .map((line) => line.split('|'))
    .filter(([origin, , release]) => origin === 'Debian' && release?.split('-')[0] === suite)
  const hasRelease = sources.some(([, , release]) => release === suite)
  return hasRelease ? [...new Set(sources.map(([, uri, name, component]) => `deb ${uri} ${name} ${component}`))] : []
}

/** The backports of a release, from the mirror that has the release. @param sources lines of {@link debianMirror} */
export function backportsOf(sources: readonly string[]): readonly string[] {
  const release = sources.find((line) => /^deb \S+ [a-z]+ main$/.test(line))
  return release === undefined ? [] : [release.replace(/ main$/, '-backports main')]
}

/** The name of the host's release, such as `bookworm`; empty if it is none of Debian's. */
export async function hostRelease(): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '')
  return /^VERSION_CODENAME=(\w+)$/m.exec(release)?.[1] ?? ''
}
