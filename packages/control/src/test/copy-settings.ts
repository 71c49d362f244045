import type { TestSettings } from './harness.ts'
import { OPERATOR } from './operator.ts'

/** Settings of a control process that stores copies of hibernated sandboxes after a second. */
export function copySettings(store: NonNullable<TestSettings['objects']>['store']): TestSettings {
  return { ...OPERATOR, objects: { store, key: Buffer.alloc(32, 5).toString('base64') }, copy_after_seconds: 1 }
}
