import type { Captured } from '../machine/capture/capture.ts'
import { continueReleased, releaseGuest } from '../machine/guest/hold.ts'
import type { Vm } from '../machine/vm/vm.ts'
import { ContinuedVm } from '../machine/zygotes/continued-vm.ts'
import { Zygote } from '../machine/zygotes/zygote.ts'
import { checkpointFiles, memoryFiles } from '../store/checkpoints/checkpoint-files.ts'
import { EXIT_CODE_AT, exitingProgram } from './exiting-program.ts'
import { VmHost } from './vm-host.ts'

/** Prints the exit code of the program that the zygote has run, which is 1. */
export const RUN_PROGRAM = '/run/program; echo $?'
/** Lets the program exit with 2. Writes into the file, so that the page cache keeps the page. */
export const PATCH_PROGRAM = `printf '\\002' | dd of=/run/program bs=1 seek=${EXIT_CODE_AT} conv=notrunc 2> /dev/null`

/**
 * A zygote without an agent. Its guest has run the program of {@link RUN_PROGRAM}, and has a file on its disk and
 * `dataBytes` of random data in its memory.
 */
export class ZygoteHost {
  readonly host: VmHost
  readonly zygote: Zygote

  private constructor(host: VmHost, zygote: Zygote) {
    this.host = host
    this.zygote = zygote
  }

  /** @param memoryMib overrides the template's memory */
  static async open(dataBytes: number, memoryMib?: number): Promise<ZygoteHost> {
    const host = await VmHost.open(memoryMib)
    const options = { ...(await host.restoreOptions()), layers: host.layers, greet: releaseGuest }
    const prepare = async (vm: Vm) => {
      await host.sh(vm, `echo zygote > /root/of-zygote; head -c ${dataBytes} /dev/urandom > /run/of-zygote; sync`)
      const program = exitingProgram(1).toString('base64')
      await host.sh(vm, `echo ${program} | base64 -d > /run/program; chmod +x /run/program; /run/program; [ $? = 1 ]`)
    }
    return new ZygoteHost(host, await Zygote.start(options, prepare, host.deadline))
  }

  /** A copy of the zygote that runs. */
  async copied(): Promise<Vm> {
    const vm = await this.zygote.fork(await this.host.restoreOptions(), this.host.deadline)
    await continueReleased(vm, this.host.deadline)
    return vm
  }

  /** Makes a copy of the zygote continue the VM of this capture. */
  async continued(captured: Captured): Promise<Vm> {
    const copy = await this.copyFor(captured)
    await copy.load(checkpointFiles(captured.folder).state, releaseGuest, this.host.deadline)
    return copy.vm
  }

  /** The same until the copy loads the device state, which the caller does. */
  async copyFor({ folder, layers, bases }: Captured): Promise<ContinuedVm> {
    const { host, zygote } = this
    const disk = layers.map((id) => ({ id, file: host.layers.path(id) }))
    const options = { ...(await host.restoreOptions()), zygote, memory: memoryFiles(folder, bases), disk }
    return ContinuedVm.start(options, host.deadline)
  }

  async close(): Promise<void> {
    await this.zygote.end(this.host.deadline)
    await this.host.close()
  }
}
