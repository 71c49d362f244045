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

/** The same mirrors' sources for another release: its updates are where the updates of the first are. */
export function sourcesOf(
  sources: readonly string[],
  { from, to }: { readonly from: string; readonly to: string },
): readonly string[] {
  const release = new RegExp(`^(deb \\S+ )${from}(-security|-updates)?( .*)$`)
  return sources.flatMap((line) => {
    const [, before, suffix = '', after] = release.exec(line) ?? []
    return before === undefined ? [] : [`${before}${to}${suffix}${after}`]
  })
}

/** The name of the host's release, such as `bookworm`; empty if it has none. */
export async function hostRelease(): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '')
  return /^VERSION_CODENAME=(\w+)$/m.exec(release)?.[1] ?? ''
}
