import { createHash } from 'node:crypto'

/** Key of the operator of a test. */
export const OPERATOR_KEY = `ofs_operator_${'x'.repeat(43)}`
/** Settings of a control process that knows the key. */
export const OPERATOR = { operator_key_sha256: createHash('sha256').update(OPERATOR_KEY).digest('hex') }
