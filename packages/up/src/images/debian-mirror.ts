import { readFile } from 'node:fs/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { runCommand } from '../base/run-command.ts'

const FORMAT = '$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)'

/**
 * The host's apt sources for a Debian release, as lines for mmdebstrap, because the host can reach these mirrors. Empty
 * if the host runs another release; mmdebstrap then uses Debian's own.
 */
export async function debianMirror(suite: string): Promise<readonly string[]> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '')
  if (!release.split('\n').includes(`VERSION_CODENAME=${suite}`)) return []
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
