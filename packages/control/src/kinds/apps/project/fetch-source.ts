import type { Deadline } from '@offshoot/kit/deadline'
import type { BuildLog } from './build-log.ts'
import { DeployFailure } from './deploy-failure.ts'
import type { GuestShell, Ran } from '../../sandboxes/guest-shell.ts'
import { lastWords } from './last-words.ts'

/** Folder of the repository in the guest. */
export const SOURCE_FOLDER = '/srv/app'
/** Seconds to fetch the commit. */
const FETCH_SECONDS = 300

export interface Source {
  readonly gitUrl: string
  /** Branch, tag or commit. */
  readonly gitRef: string
  /** `user:password` for this command only; `null` for a public repository. */
  readonly credential: string | null
  /** Whether the sandbox already has a commit with its installed dependencies, which stay. */
  readonly isThere: boolean
}

/**
 * Fetches a single commit. Messages for users go to standard error. The script needs no locking and no fsync: nothing
 * runs beside it, and an interrupted deployment starts again from the beginning.
 *
 * Some servers cannot send a single commit: those with plain files only, or for a shortened hash. Then git fetches
 * everything. git may use only HTTP, also after redirects; with a credential it follows no redirects.
 */
const FETCH = `set -u
if [ "$SOURCE_IS_THERE" = 1 ]; then cd ${SOURCE_FOLDER} || exit 1
else
  rm -rf ${SOURCE_FOLDER}; mkdir -p ${SOURCE_FOLDER}; cd ${SOURCE_FOLDER} || exit 1
  git init -q -b main --template= . || exit 1
fi
get() { git fetch -q --no-tags --no-auto-maintenance --no-recurse-submodules "$@"; }
go() { git checkout -q -f --detach "$1"; }
all() { get -- "$SOURCE_URL" '+refs/heads/*:refs/remotes/origin/*' && go "$1"; }
one() { get --depth 1 -- "$SOURCE_URL" "$SOURCE_REF" 2>/tmp/fetch && go FETCH_HEAD; }
if one; then :
elif grep -q 'shallow' /tmp/fetch; then get -- "$SOURCE_URL" "$SOURCE_REF" && go FETCH_HEAD || exit 1
elif printf %s "$SOURCE_REF" | grep -Eq '^[0-9a-f]{7,40}$' && grep -Eq "couldn't find|not our ref|unadvertised" /tmp/fetch; then all "$SOURCE_REF" || exit 1
else cat /tmp/fetch >&2; exit 1
fi
[ -f .gitmodules ] && echo 'submodules are not fetched' >&2
git log -1 --format='%h %s' | cut -c 1-200 >&2
`
/** Messages of git and of its curl. They may come before the last line, so search the whole output. */
const DISK_FULL = /No space left on device|Failure writing output to destination/

/** Printed after all other output. HEAD is detached, so it contains the commit's hash. */
const SAY_COMMIT = `read -r commit < ${SOURCE_FOLDER}/.git/HEAD; printf 'commit %s\\n' "$commit"`

const GIT_SETTINGS = {
  GIT_TERMINAL_PROMPT: '0',
  GIT_ALLOW_PROTOCOL: 'http:https',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_LFS_SKIP_SMUDGE: '1',
  GIT_HTTP_LOW_SPEED_LIMIT: '100',
  GIT_HTTP_LOW_SPEED_TIME: '60',
  HOME: '/root',
}

export interface Fetched {
  /** The commit that is checked out now. */
  readonly commit: string
  /** The result of the script that ran afterwards. */
  readonly ran: Ran
}

/** A script to run after the checkout, in the same command, which saves a round trip to the guest. */
export interface Following {
  readonly script: string
  readonly env: Readonly<Record<string, string>>
}

/** @throws DeployFailure if the commit could not be fetched */
export async function fetchSource(
  shell: GuestShell,
  { gitUrl, gitRef, credential, isThere }: Source,
  following: Following,
  log: BuildLog,
  deadline: Deadline,
): Promise<Fetched> {
  const source = { SOURCE_URL: gitUrl, SOURCE_REF: gitRef, SOURCE_IS_THERE: isThere ? '1' : '0' }
  const env = { ...GIT_SETTINGS, ...source, ...settingsFor(credential), ...following.env }
  // The script runs in a subshell, so that its `exit` does not skip the commands after it.
  const cmd = `${FETCH}(${following.script}); code=$?\n${SAY_COMMIT}; exit $code`
  const ran = await shell.run({ cmd, env, cwd: '/', timeout_seconds: FETCH_SECONDS }, deadline, (text, stream) => {
    if (stream === 'stderr') log.write(text)
  })
  log.endLine()
  const commit = /^commit ([0-9a-f]{40,64})$/m.exec(ran.stdout)?.[1]
  if (commit !== undefined) return { commit, ran }
  const isFull = DISK_FULL.test(ran.stderr)
  const said = isFull ? 'there is no room for it on the disk' : lastWords(ran.stderr)
  throw new DeployFailure(`clone failed: ${said ?? `git ended with code ${ran.exitCode}`}`)
}

function settingsFor(credential: string | null): Record<string, string> {
  if (credential === null) return {}
  const header = `Authorization: Basic ${Buffer.from(credential).toString('base64')}`
  return {
    GIT_CONFIG_COUNT: '2',
    GIT_CONFIG_KEY_0: 'http.extraHeader',
    GIT_CONFIG_VALUE_0: header,
    GIT_CONFIG_KEY_1: 'http.followRedirects',
    GIT_CONFIG_VALUE_1: 'false',
  }
}
