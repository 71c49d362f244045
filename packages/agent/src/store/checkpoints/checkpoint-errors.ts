/** A checkpoint is damaged: a file is missing or was changed, or its signature is by an unknown key. */
export class CheckpointDamaged extends Error {
  override readonly name = 'CheckpointDamaged'
}

/** A complete checkpoint that this host cannot restore: made with another QEMU, machine or CPU. */
export class CheckpointIncompatible extends Error {
  override readonly name = 'CheckpointIncompatible'
}
