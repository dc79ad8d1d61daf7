package io.kcp4j.fuzz;

/** The bytes of one execution, read from the front. After their end there are zeros. */
final class FuzzInput {

  private final byte[] bytes;
  private int at;

  FuzzInput(byte[] bytes) {
    this.bytes = bytes;
  }

  boolean isAtEnd() {
    return at >= bytes.length;
  }

  int unsignedByte() {
    return at < bytes.length ? bytes[at++] & 0xff : 0;
  }

  /** -128 to 127: mostly used for values near the right one. */
  int signedByte() {
    return (byte) unsignedByte();
  }

  int unsignedShort() {
    return unsignedByte() | unsignedByte() << 8;
  }

  int integer() {
    return unsignedShort() | unsignedShort() << 16;
  }

  /** 0 to {@code bound - 1}, a bound of at most 256. */
  int below(int bound) {
    return unsignedByte() % bound;
  }

  boolean oneIn(int n) {
    return below(n) == 1;
  }

  /** The next bytes, as many as there are. */
  byte[] take(int max) {
    int taken = Math.max(0, Math.min(max, bytes.length - at));
    byte[] copy = new byte[taken];
    System.arraycopy(bytes, Math.min(at, bytes.length), copy, 0, taken);
    at += taken;
    return copy;
  }
}
