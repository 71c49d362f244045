import { join } from 'node:path'
import { currentProduct } from '../base/product.ts'
import { repositoryRoot } from '../base/repository.ts'
import { runCommand } from '../base/run-command.ts'
import { hashTexts, hashTree } from './content-hash.ts'
import type { Step } from './step.ts'

const FOLDER = 'console'
const UNUSED = { has: (name: string) => /^(node_modules|test)$|\.test\.tsx?$/.test(name) }

/** Where the built console is. A release of the npm package contains it, because it has no tools to build it. */
export function consoleFolder(imagesDir: string): string {
  return join(currentProduct().isPacked ? repositoryRoot : imagesDir, FOLDER)
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
    inputsHash: async () => hashTexts(...(await Promise.all(inputs.map((input) => hashTree(input, UNUSED))))),
    run: async (work) => {
      await runCommand(process.execPath, [join(source, 'build.mjs'), join(work.folder, FOLDER)], {
        deadline: work.deadline,
        // Otherwise the build of a test's process would differ.
        env: { NODE_ENV: 'production' },
      })
    },
  }
}
