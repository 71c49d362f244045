import type { BuildPlan } from '../project/build-plan.ts'
import type { GuestCommand } from '../../sandboxes/guest-shell.ts'
import type { Project } from '../project/read-project.ts'
import { SERVE_SITE, siteConfiguration } from './site-server.ts'

/** This file exists once the version has answered. */
export const LIVE_MARK = '/run/offshoot-app-live'

/**
 * Runs the app for as long as the sandbox lives. If the app ends before it was ever healthy, the start has failed.
 * Later it is restarted, after one more second each time, up to half a minute.
 *
 * The public reaches the app, so it gets random addresses, which an emulated guest does not give programs by itself
 * (docs/adr/0052-fixed-addresses.md).
 */
const KEEP_RUNNING = `echo 2 > /proc/sys/kernel/randomize_va_space
times=0
while :; do
  sh -c "$OFFSHOOT_START"; code=$?
  [ -e ${LIVE_MARK} ] || exit $code
  times=$((times < 30 ? times + 1 : 30))
  echo "offshoot: the app ended with code $code; it is started again in $times s" >&2
  sleep $times
done`

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/**
 * Variables of every command of a build. The app's own override the defaults, except `PORT`. `PATH` is the app's with
 * the folders of installed programs in front.
 */
export function buildEnvironment(env: Readonly<Record<string, string>>, port: number, project: Project) {
  // Workspaces put the programs of all members into their root.
  const folders = new Set([project.folder, project.install.folder])
  const programs = [...folders].map((folder) => `${folder}/node_modules/.bin`).join(':')
  return {
    HOME: '/root',
    CI: '1',
    NEXT_TELEMETRY_DISABLED: '1',
    ...env,
    PATH: `${programs}:${project.folder}/.venv/bin:${env['PATH'] ?? PATH}`,
    PORT: String(port),
  }
}

/** The app's start command, to run in the background. */
export function startBody(
  plan: BuildPlan,
  env: Readonly<Record<string, string>>,
  port: number,
  project: Project,
): GuestCommand {
  const { CI: _ci, ...common } = buildEnvironment(env, port, project)
  const site = { OFFSHOOT_FOLDERS: plan.folders.join('\n'), OFFSHOOT_SITE: siteConfiguration(port, plan.isSinglePage) }
  return {
    cmd: KEEP_RUNNING,
    cwd: project.folder,
    env: {
      NODE_ENV: 'production',
      HOST: '0.0.0.0',
      HOSTNAME: '0.0.0.0',
      PYTHONUNBUFFERED: '1',
      ...common,
      ...(plan.start === null && site),
      OFFSHOOT_START: plan.start ?? SERVE_SITE,
    },
  }
}
