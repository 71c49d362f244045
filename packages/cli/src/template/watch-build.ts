import type { Build, BuildLogLine } from '@offshoot/contract/build'
import type { Cli } from '../frame/cli.ts'
import type { Line } from '../frame/command.ts'
import { Failure } from '../frame/failure.ts'
import { follow } from '../frame/follow.ts'
import { Progress } from '../frame/progress.ts'

/** Options of both ways to make a template. */
export interface MakeOptions {
  readonly start?: string
  readonly ready?: string
  readonly replace?: boolean
  readonly detach?: boolean
}

/** Shows the log of a build until it ends, then prints the name of the template. The build goes on without the program. */
export async function watchBuild(cli: Cli, { options }: Line<MakeOptions>, { id, ...build }: Build): Promise<void> {
  const { detach = false, json, quiet = false } = options
  if (detach) return cli.out.result(options, { id, ...build }, id)
  const progress = new Progress(cli, 'waiting')
  try {
    await followBuild(cli, id, (line) => {
      progress.clear()
      if (!quiet) cli.out.note(line.line)
      progress.say(`${line.stage} ${line.percent} %`)
    })
  } finally {
    progress[Symbol.dispose]()
  }
  if (cli.signal.aborted) {
    cli.out.note(`The build goes on. See it: offshoot template logs -f ${id}. End it: offshoot template cancel ${id}`)
    throw cli.signal.reason
  }
  const ended = await (await cli.api()).request('GET /v1/builds/{id}', { path: { id }, signal: cli.signal })
  if (ended.status === 'failed')
    throw new Failure(`the build of ${ended.name} failed (${ended.error ?? 'without a reason'})`, {
      next: `read its log with offshoot template logs ${id}`,
    })
  if (json) cli.out.json(ended)
  else cli.out.line(ended.name)
}

/** Calls `show` with each line of the log until the build ends, or the user leaves. */
export async function followBuild(cli: Cli, id: string, show: (line: BuildLogLine) => void): Promise<void> {
  const api = await cli.api()
  const events = follow(cli, (how) =>
    api.follow('GET /v1/builds/{id}/logs', { path: { id }, query: { follow: true }, ...how }),
  )
  for await (const { event, data } of events) if (event === 'line') show(JSON.parse(data) as BuildLogLine)
}
