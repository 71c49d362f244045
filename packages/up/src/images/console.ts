import { join } from 'node:path'
import { builtFolder } from '../base/product.ts'
import { repositoryRoot } from '../base/repository.ts'
import { runCommand } from '../base/run-command.ts'
import { hashTrees } from './content-hash.ts'
import type { Step } from './step.ts'

const FOLDER = 'console'
const UNUSED = { has: (name: string) => /^(node_modules|test)$|\.test\.tsx?$/.test(name) }

/** Where the built console is. */
export function consoleFolder(imagesDir: string): string {
  return builtFolder(imagesDir, FOLDER)
}

/** Builds the web console in a checkout. */
export function consoleStep(): Step {
  const source = join(repositoryRoot, 'packages/console')
  // The lock file stands for the libraries that are compiled in.
  const inputs = [source, join(repositoryRoot, 'packages/sdk/src'), join(repositoryRoot, 'package-lock.json')]
  return {
    name: 'console',
    title: 'console',
    after: [],
    outputs: [FOLDER],
    maxSeconds: 300,
    inputsHash: () => hashTrees(inputs, UNUSED),
    run: async (work) => {
      await runCommand(process.execPath, [join(source, 'build.mjs'), join(work.folder, FOLDER)], {
        deadline: work.deadline,
        // Otherwise the build of a test's process would differ.
        env: { NODE_ENV: 'production' },
      })
    },
  }
}
