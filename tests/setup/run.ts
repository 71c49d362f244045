/**
 * Runs tests as bin/test describes. The arguments are Vitest's. The last line is `N passed, N failed`, and the exit code
 * 1 if a test failed.
 */
import { parseCLI, startVitest, type TestCase, type TestModule, type Vitest } from 'vitest/node'

const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)])
const common = { ...options, watch: false }

const first = await startVitest(filter, { ...common, reporters: ['default', './tests/setup/stage-times.ts'] })
const isMendable = !hasOtherErrors(first)
const modules = first.state.getTestModules()
const failed = modules.filter((module) => !module.ok())

// All tests share two cores with their VMs, so a test may fail beside others only. A file with a test that looks for
// lost data or double work has no second chance.
const again = failed.filter((module) => !failuresOf(module).some(({ tags }) => tags.includes('only-once')))
const mended = new Map<string, TestModule>()
if (isMendable && again.length > 0) {
  console.log(`The failed files again, alone: ${again.length}`)
  process.env['OFFSHOOT_TEST_WORKERS'] = '1'
  const paths = again.map(({ moduleId }) => moduleId)
  const second = await startVitest(paths, { ...common, fileParallelism: false, reporters: ['default'] })
  if (!hasOtherErrors(second))
    for (const module of second.state.getTestModules()) if (module.ok()) mended.set(keyOf(module), module)
  if (mended.size > 0) console.log('Failed beside others, passed alone:')
  for (const module of again.filter((each) => mended.has(keyOf(each)))) {
    for (const test of failuresOf(module))
      console.log(`  ${module.relativeModuleId} > ${test.fullName}\n    ${errorOf(test)}`)
    if (failuresOf(module).length === 0) console.log(`  ${module.relativeModuleId}\n    ${module.errors()[0]?.message}`)
  }
}

const counted = modules.map((module) => mended.get(keyOf(module)) ?? module)
const count = (state: 'passed' | 'failed' | 'skipped') =>
  counted.flatMap(({ children }) => [...children.allTests(state)]).length
// A file that fails outside its tests counts as a failed test.
const brokenFiles = counted.filter((module) => !module.ok() && failuresOf(module).length === 0).length
// Those of the longer forms.
const leftOut = counted.flatMap(({ children }) => [...children.allTests('skipped')]).filter(isLeftOut).length
const failures = count('failed') + brokenFiles + (isMendable ? 0 : 1)
const skipped = count('skipped') - leftOut
if (leftOut > 0) console.log(`Without ${leftOut} tests of the longer forms. bin/test --all runs them, too.`)
console.log(`${count('passed')} passed, ${failures} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
process.exit(failures > 0 || modules.length === 0 ? 1 : 0)

/** Errors outside of test files. */
function hasOtherErrors(vitest: Vitest): boolean {
  return vitest.state.getUnhandledErrors().length > 0
}

function isLeftOut({ tags }: TestCase): boolean {
  return tags.some((tag) => options.tagsFilter?.includes(`!${tag}`))
}

function failuresOf({ children }: TestModule): TestCase[] {
  return [...children.allTests('failed')]
}

function errorOf(test: TestCase): string | undefined {
  const [error] = test.result().errors ?? []
  return `${error?.stacks?.[0]?.line}: ${error?.message}`
}

function keyOf({ project, moduleId }: TestModule): string {
  return `${project.name} ${moduleId}`
}
