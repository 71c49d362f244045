import { join } from 'node:path'
import { builtFolder } from '../base/product.ts'
import { repositoryRoot } from '../base/repository.ts'
import { runCommand } from '../base/run-command.ts'
import { hashTrees } from './content-hash.ts'
import type { Step } from './step.ts'

const FOLDER = 'services'
const PACKAGES = ['agent', 'contract', 'control', 'e2b', 'edge', 'guest-link', 'kit']
const UNUSED = { has: (name: string) => /^(test|testing)$|\.test\.ts$/.test(name) }

/** A program of the services in one file, which starts in half the time that its modules take (docs/adr/0047). */
export type BundledProgram = 'agent' | 'control' | 'e2b' | 'edge' | 'prepare'

export function bundledProgram(imagesDir: string, name: BundledProgram): string {
  return join(builtFolder(imagesDir, FOLDER), `${name}.js`)
}

/** Bundles the services in a checkout. */
export function servicesStep(): Step {
  const program = join(repositoryRoot, 'bin/lib/bundle-services.mjs')
  const sources = PACKAGES.map((name) => join(repositoryRoot, 'packages', name, 'src'))
  // The lock file stands for the libraries that are compiled in.
  const inputs = [program, ...sources, join(repositoryRoot, 'package-lock.json')]
  return {
    name: 'services',
    title: 'services',
    after: [],
    outputs: [FOLDER],
    maxSeconds: 300,
    inputsHash: () => hashTrees(inputs, UNUSED),
    run: async (work) => {
      await runCommand(process.execPath, [program, join(work.folder, FOLDER)], { deadline: work.deadline })
    },
  }
}
