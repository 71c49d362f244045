import { statement } from '../../../platform/db/statement.ts'

export const sshServiceKeys = statement<{ purpose: string; key: Buffer }, []>(
  'ssh-service-keys',
  'select purpose, key from ssh_service_keys',
)

/** Another process may have made the key meanwhile: then its key stays. */
export const insertSshServiceKey = statement<never, [purpose: string, key: Buffer]>(
  'insert-ssh-service-key',
  'insert into ssh_service_keys (purpose, key) values ($1, $2) on conflict (purpose) do nothing',
)
