package io.kcp4j.internal.wire;

/**
 * Mixes the bits of numbers, for hash functions of tables whose keys peers choose. Added to a
 * secret seed first, no key shows where it is in the table.
 */
public final class HashMixer {

  private HashMixer() {}

  /** The finalizer of SplitMix64, a bijection: each bit depends on all bits of the value. */
  public static long mix(long value) {
    long mixed = (value ^ (value >>> 30)) * 0xbf58476d1ce4e5b9L;
    mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
    return mixed ^ (mixed >>> 31);
  }
}
