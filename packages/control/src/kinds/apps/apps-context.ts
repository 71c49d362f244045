import type { Seal } from '../../platform/seal.ts'
import type { DatabasesContext } from '../databases/databases-context.ts'
import type { AppChanges } from './app-changes.ts'
import type { Deployer } from './deploying/deployer.ts'
import type { GitCredentials } from './deploying/git-credentials.ts'
import type { DnsTexts } from './domains/dns-texts.ts'
import type { GitProvider } from './git-provider/git-provider.ts'
import type { Scaler } from './instances/scaler.ts'

export interface AppsContext extends DatabasesContext {
  /** Encrypts the variables of apps. */
  readonly appSecrets: Seal
  /** Encrypts the private keys of certificates. */
  readonly certificateKeys: Seal
  /** Reads the DNS records that verify a domain. */
  readonly dnsTexts: DnsTexts
  readonly deployer: Deployer
  readonly scaler: Scaler
  readonly appChanges: AppChanges
  /** `null` if the operator has configured none. */
  readonly gitProvider: GitProvider | null
  readonly gitCredentials: GitCredentials
}
