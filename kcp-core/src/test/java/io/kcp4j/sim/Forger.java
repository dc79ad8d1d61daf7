package io.kcp4j.sim;

import io.kcp4j.Delivery;
import io.kcp4j.internal.arq.Kcp.InputResult;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Forges datagrams of an attacker who observes the packets of a session. Each is one that a session
 * must survive without harm.
 */
final class Forger {

  private static final List<Fault> KINDS = kinds();

  private final int conv;
  private final SplittableRandom random;

  /** That of forged PUSHes. */
  private int ts;

  Forger(int conv, SplittableRandom random) {
    this.conv = conv;
    this.random = random;
  }

  private static List<Fault> kinds() {
    List<Fault> kinds = new ArrayList<>(List.of(Fault.values()));
    kinds.removeIf(kind -> !kind.isForged());
    return List.copyOf(kinds);
  }

  /** Draws a kind of forgery that does no harm in this mode. */
  Fault drawKind(Delivery delivery) {
    Fault kind = KINDS.get(random.nextInt(KINDS.size()));
    // A stream ignores fragment numbers, and would take the payload.
    boolean harmful = kind == Fault.TOO_MANY_FRAGMENTS && delivery == Delivery.STREAM;
    return harmful ? Fault.GARBAGE : kind;
  }

  /** The result of a session for such a datagram; null where any refusal is right. */
  static InputResult expectedResult(Fault kind) {
    return switch (kind) {
      case GARBAGE -> null;
      case EMPTY, SHORT_HEADER, LENGTH_BEYOND_END, LENGTH_NEGATIVE, BAD_TAIL ->
          InputResult.MALFORMED;
      case WRONG_CONV -> InputResult.WRONG_CONV;
      case UNKNOWN_COMMAND -> InputResult.UNKNOWN_COMMAND;
      case UNA_OF_UNSENT, ACK_OF_UNSENT -> InputResult.ACKNOWLEDGES_UNSENT;
      default -> InputResult.ACCEPTED;
    };
  }

  /**
   * Appends a datagram to {@code target}.
   *
   * @param victim what the attacked session has sent and received
   * @param peer the same of its peer
   * @param victimTs the victim's timestamp now
   */
  void forge(Fault kind, ByteBuf target, WireMonitor victim, WireMonitor peer, int victimTs) {
    ts = victimTs + ahead(); // Not one that the victim has sent.
    int una = victim.unaIn();
    int sn = victim.unaOut();
    switch (kind) {
      case GARBAGE -> garbage(target);
      case EMPTY -> {}
      case SHORT_HEADER -> {
        push(target, conv, 0, sn, una, 0);
        target.writerIndex(target.writerIndex() - 1 - random.nextInt(Segment.HEADER_BYTES - 1));
      }
      case WRONG_CONV -> push(target, conv + 1 + random.nextInt(9), 0, sn, una, 1);
      case UNKNOWN_COMMAND -> {
        int cmd = random.nextBoolean() ? random.nextInt(Segment.PUSH) : 85 + random.nextInt(171);
        Segment.write(target, conv, cmd, 0, 9, 0, sn, una, 0);
      }
      case LENGTH_BEYOND_END -> length(target, sn, una, 11 + random.nextInt(100_000));
      case LENGTH_NEGATIVE -> length(target, sn, una, Integer.MIN_VALUE | random.nextInt());
      case BAD_TAIL -> {
        push(target, conv, 0, sn, una, 10);
        length(target, sn, una, 11);
      }
      case UNA_OF_UNSENT ->
          Segment.write(target, conv, Segment.WINS, 0, 9, 0, 0, victim.nextSn() + ahead(), 0);
      case ACK_OF_UNSENT ->
          Segment.write(
              target, conv, Segment.ACK, 0, 9, victimTs, victim.nextSn() - 1 + ahead(), una, 0);
      case INVALID_TIMESTAMP -> {
        int ts = random.nextBoolean() ? victimTs + ahead() : victimTs - (1 << 30) - ahead() / 2;
        Segment.write(target, conv, Segment.ACK, 0, 0, ts, peer.unaOut() - 1, una - 1, 0);
      }
      case BEYOND_WINDOW -> push(target, conv, 0, peer.nextSn() + 70_000 + ahead() / 2, una - 1, 9);
      case TOO_MANY_FRAGMENTS -> push(target, conv, 255, peer.nextSn(), una - 1, 9);
      default -> throw new IllegalArgumentException(kind + " is nothing to forge");
    }
  }

  private int ahead() {
    return 1 + random.nextInt(1 << 30);
  }

  private void garbage(ByteBuf target) {
    byte[] bytes = new byte[Segment.HEADER_BYTES + random.nextInt(200)];
    random.nextBytes(bytes);
    bytes[0] = (byte) (conv + 1);
    target.writeBytes(bytes);
  }

  private void push(ByteBuf target, int conv, int frg, int sn, int una, int length) {
    Segment.write(target, conv, Segment.PUSH, frg, 0, ts, sn, una, length);
    target.writeZero(length);
  }

  /** A PUSH of ten bytes with {@code length} in its header. */
  private void length(ByteBuf target, int sn, int una, int length) {
    Segment.write(target, conv, Segment.PUSH, 0, 0, ts, sn, una, length);
    target.writeZero(10);
  }
}
