package io.kcp4j.netty.smux;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.netty.buffer.ByteBuf;

/** A frame of smux as it crosses the wire. The payload has a character for each byte. */
record Frame(int version, int command, int id, String payload) {

  private static final int SYN = 0;
  private static final int FIN = 1;
  private static final int PSH = 2;
  private static final int NOP = 3;
  private static final int UPD = 4;

  static Frame syn(int id) {
    return new Frame(2, SYN, id, "");
  }

  static Frame fin(int id) {
    return new Frame(2, FIN, id, "");
  }

  static Frame push(int id, String payload) {
    return new Frame(2, PSH, id, payload);
  }

  static Frame nop() {
    return new Frame(2, NOP, 0, "");
  }

  static Frame update(int id, int consumed, int window) {
    return new Frame(2, UPD, id, int32(consumed) + int32(window));
  }

  private static String int32(int value) {
    StringBuilder bytes = new StringBuilder();
    for (int shift = 0; shift < Integer.SIZE; shift += Byte.SIZE) {
      bytes.append((char) (value >>> shift & 0xff));
    }
    return bytes.toString();
  }

  /** The same frame of version 1. */
  Frame v1() {
    return new Frame(1, command, id, payload);
  }

  boolean isPush() {
    return command == PSH;
  }

  void writeTo(ByteBuf out) {
    out.writeByte(version).writeByte(command).writeShortLE(payload.length()).writeIntLE(id);
    out.writeCharSequence(payload, ISO_8859_1);
  }

  static Frame read(ByteBuf in) {
    int version = in.readByte();
    int command = in.readByte();
    int length = in.readUnsignedShortLE();
    return new Frame(version, command, in.readIntLE(), in.readString(length, ISO_8859_1));
  }
}
