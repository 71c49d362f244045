import { pino } from 'pino'
import { prepareTemplates } from './agent.ts'
import { openHost } from './open-host.ts'
import { takeDataDir } from './take-data-dir.ts'
import { Sandbox } from './sandbox/model/sandbox.ts'

/**
 * Does what takes long before the agent is started: accelerator probe and bakes, with a line of progress each.
 * Nothing to do takes no time; the agent does the same by itself.
 */
try {
  const config = await takeDataDir()
  const { host, images, manifests } = await openHost(config, pino({ level: 'silent' }), 'prepare')
  for (const [id, manifest] of manifests) {
    host.sandboxes.set(id, new Sandbox(manifest, host))
    host.platform.slots.reserve(manifest.slot)
  }
  const { broken } = await prepareTemplates(config, { host, images, retriesFailure: true }, (what) => console.log(what))
  for (const [template, error] of broken) throw new Error(`template ${template} cannot be baked`, { cause: error })
  await host.store.events.close()
  process.exit(0)
} catch (error) {
  console.error(sentence(error))
  process.exit(1)
}

/** What failed and why, in one line. */
function sentence(error: unknown): string {
  const parts: string[] = []
  for (let at: unknown = error; at instanceof Error; at = at.cause) parts.push(at.message)
  return parts.join(': ') || String(error)
}
