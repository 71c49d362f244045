import { link, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { AgentProcess } from '@offshoot/agent/test/agent-process'
import { linkImages } from '@offshoot/agent/test/link-images'
import { hold } from './cleanup.ts'

const IMAGES = resolve(import.meta.dirname, '../.offshoot/images')

export interface BaseAgent {
  readonly agent: AgentProcess
  /** Ends the agent and everything that it has started. */
  readonly release: () => Promise<void>
}

/**
 * An agent without control that has baked `base`, for measurements that are too slow or impossible through the public
 * API.
 */
export async function startBaseAgent(): Promise<BaseAgent> {
  return ready(await AgentProcess.create(undefined, { images_dir: IMAGES, templates: ['base'] }))
}

/** The same with a second template `large`, which is `base` with more memory. */
export async function startLargeAgent(memoryMib: number, folder: string): Promise<BaseAgent> {
  const images = join(folder, 'images')
  const [base, large] = [join(images, 'templates/base'), join(images, 'templates/large')]
  for (const place of [base, large]) await mkdir(place, { recursive: true })
  await linkImages(IMAGES, images, 'templates')
  const text = await readFile(join(IMAGES, 'templates/base/template.json'), 'utf8')
  for (const place of [base, large]) await link(join(IMAGES, 'templates/base/rootfs.ext4'), join(place, 'rootfs.ext4'))
  await writeFile(join(base, 'template.json'), text)
  const changed = { ...(JSON.parse(text) as object), name: 'large', memory_mb: memoryMib }
  await writeFile(join(large, 'template.json'), JSON.stringify(changed))
  return ready(await AgentProcess.create(folder, { images_dir: images, templates: ['base', 'large'] }))
}

async function ready(agent: AgentProcess): Promise<BaseAgent> {
  const release = hold(async () => agent.destroy())
  await agent.prepare()
  await agent.start()
  return { agent, release }
}
