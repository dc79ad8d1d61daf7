package io.kcp4j.internal.arq;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.KcpTracer.Origin;
import io.kcp4j.internal.arq.Kcp.InputResult;
import io.kcp4j.internal.recovery.LossDetector;
import io.kcp4j.internal.send.BlackHoleDetector;
import io.kcp4j.internal.send.SendBuffer;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.Timestamps;
import io.kcp4j.internal.wire.Timestamps.PeerClock;
import io.netty.buffer.ByteBuf;

/** Takes in datagrams: acknowledgements, the peer's window, payload and window probes. */
final class InputProcessor {

  // What segments of a datagram have done:

  /** Something that no packet received before can have: protocol.md 7.3. */
  private static final int FRESH = 1;

  /** An ACK with the sequence number and the timestamp of a segment that was sent. */
  private static final int EXACT_ACK = 2;

  /** A window that is open, and was not asked for. */
  private static final int WINDOW_UPDATE = 4;

  /** An ACK, whatever it acknowledges. */
  private static final int ACK = 8;

  /** An ACK that answers a challenge. */
  private static final int ANSWER = 16;

  private InputProcessor() {}

  /** Takes in one datagram; see {@link Kcp#input}. */
  static InputResult input(Kcp kcp, ByteBuf datagram, Origin origin, long nowUs) {
    if (!kcp.sender.isOpen()) {
      return InputResult.SESSION_ENDED;
    }
    if (origin == Origin.NETWORK) {
      kcp.sender.counters.addDatagramIn(datagram.readableBytes());
    }
    if (datagram.readableBytes() < Segment.HEADER_BYTES) {
      return refuse(kcp.sender.counters, InputResult.MALFORMED);
    }
    // Both passes share what is read of the first header: most datagrams have no other.
    long first = Segment.first(datagram, datagram.readerIndex());
    long third = Segment.third(datagram, datagram.readerIndex());
    InputResult result = validate(kcp, datagram, first, third, nowUs);
    if (result != InputResult.ACCEPTED) {
      return refuse(kcp.sender.counters, result);
    }
    if (kcp.sender.tracing != null) {
      kcp.sender.tracing.at(nowUs);
      kcp.sender.tracing.datagramReceived(datagram.readableBytes(), origin);
    }
    apply(kcp, datagram, first, third, origin, nowUs);
    return result;
  }

  /**
   * Validates a datagram, which has a header at least, as a whole before any of it has an effect:
   * protocol.md 2.1.
   *
   * @param firstLong the first long of the first header
   * @param thirdLong the third long of the first header
   */
  private static InputResult validate(
      Kcp kcp, ByteBuf datagram, long firstLong, long thirdLong, long nowUs) {
    int conv = kcp.conv();
    int sndNext = kcp.sender.buffer.next();
    Timestamps timestamps = kcp.sender.timestamps.isOwnRecognised() ? kcp.sender.timestamps : null;
    int nowTs = timestamps == null ? 0 : timestamps.at(nowUs);
    boolean isUnproven = kcp.isProofAwaited();
    boolean isOfSession = false;
    long first = firstLong;
    long third = thirdLong;
    int end = datagram.writerIndex();
    int index = datagram.readerIndex();
    while (true) {
      if (Segment.conv(first) != conv) {
        return InputResult.WRONG_CONV;
      }
      int cmd = Segment.cmd(first);
      if (!Segment.isCommand(cmd)) {
        return InputResult.UNKNOWN_COMMAND;
      }
      int length = Segment.length(third);
      if (length < 0 || length > end - index - Segment.HEADER_BYTES) {
        return InputResult.MALFORMED;
      }
      if (Segment.una(third) - sndNext > 0
          || (cmd == Segment.ACK && Segment.sn(datagram, index) - sndNext >= 0)) {
        return InputResult.ACKNOWLEDGES_UNSENT;
      }
      if (timestamps != null && timestamps.isOwn(cmd, Segment.ts(datagram, index), nowTs)) {
        return InputResult.REFLECTED;
      }
      if (isUnproven) {
        isOfSession |= Segment.una(third) != 0;
        isUnproven = !isProof(kcp, cmd, datagram, index);
      }
      index += Segment.HEADER_BYTES + length;
      if (end - index < Segment.HEADER_BYTES) {
        return isUnproven && isOfSession ? InputResult.UNPROVEN : InputResult.ACCEPTED;
      }
      first = Segment.first(datagram, index);
      third = Segment.third(datagram, index);
    }
  }

  private static boolean isProof(Kcp kcp, int cmd, ByteBuf datagram, int index) {
    return cmd == Segment.ACK
        && kcp.sender.wasSent(Segment.sn(datagram, index), Segment.ts(datagram, index));
  }

  private static InputResult refuse(KcpCounters counters, InputResult result) {
    KcpCounter counter =
        switch (result) {
          case MALFORMED -> KcpCounter.MALFORMED;
          case WRONG_CONV -> KcpCounter.WRONG_CONV;
          case UNKNOWN_COMMAND -> KcpCounter.UNKNOWN_COMMAND;
          case ACKNOWLEDGES_UNSENT -> KcpCounter.ACKNOWLEDGES_UNSENT;
          case REFLECTED -> KcpCounter.REFLECTED;
          case UNPROVEN -> KcpCounter.UNPROVEN;
          case ACCEPTED, SESSION_ENDED -> throw new AssertionError(result);
        };
    counters.add(counter, 1);
    return result;
  }

  /**
   * Applies a datagram, whose first header begins with {@code firstLong} and ends with {@code
   * thirdLong}. Every ACK comes before any {@code una}, which would drop the segment that the ACK
   * has to be compared with: protocol.md 2.3.
   */
  private static void apply(
      Kcp kcp, ByteBuf datagram, long firstLong, long thirdLong, Origin origin, long nowUs) {
    kcp.receiver.received(nowUs);
    kcp.schedule.datagramReceived(nowUs);
    int newestUna = kcp.sender.remote.una();
    int unaBefore = kcp.sender.buffer.una();
    int unacknowledged = kcp.sender.losses.unacknowledged();
    boolean hasReceived = kcp.hasReceived();
    int effects = 0;
    int segments = 0;
    int end = datagram.writerIndex();
    int next = datagram.readerIndex();
    int index;
    int una = 0;
    long first = firstLong;
    long third = thirdLong;
    while (true) {
      index = next;
      segments++;
      long second = Segment.second(datagram, index);
      int cmd = Segment.cmd(first);
      int segmentUna = Segment.una(third);
      if (cmd == Segment.WASK || cmd == Segment.WINS) {
        segmentUna = una(kcp, Segment.ts(second), segmentUna, nowUs);
      }
      if (origin == Origin.NETWORK) {
        updateRemoteWindow(kcp, segmentUna, Segment.wnd(first));
      }
      if (segments == 1 || segmentUna - una > 0) {
        una = segmentUna;
      }
      int length = Segment.length(third);
      effects |=
          switch (cmd) {
            case Segment.PUSH -> push(kcp, first, second, datagram, index, length, nowUs);
            case Segment.ACK -> acknowledge(kcp, second, effects, nowUs);
            default -> window(kcp, cmd, Segment.wnd(first), length, nowUs);
          };
      next = index + Segment.HEADER_BYTES + length;
      if (end - next < Segment.HEADER_BYTES || kcp.failure() != null) {
        break;
      }
      first = Segment.first(datagram, next);
      third = Segment.third(datagram, next);
    }
    kcp.receiver.endDatagram(origin);
    kcp.noteReceived();
    kcp.sender.counters.add(KcpCounter.SEGMENTS_IN, segments);
    boolean isStale = una - newestUna < 0;
    int rttSampleUs = kcp.sender.rtt.endDatagram(origin == Origin.NETWORK, nowUs);
    acknowledgeBelow(kcp, una, unacknowledged, rttSampleUs, nowUs);
    boolean isFresh =
        (effects & FRESH) != 0
            || kcp.sender.buffer.una() != unaBefore
            || kcp.sender.losses.unacknowledged() != unacknowledged;
    if (Segment.cmd(first) == Segment.WINS && next - index > Segment.HEADER_BYTES) {
      boolean hasExactAck = (effects & EXACT_ACK) != 0;
      isStale |= !receiveMessage(kcp, datagram, index, !hasReceived, hasExactAck, nowUs);
    }
    if ((effects & (EXACT_ACK | WINDOW_UPDATE)) != 0) {
      endControl(kcp, effects, isStale, nowUs);
    }
    if (!isStale) {
      kcp.sender.probe.answered();
    }
    if (kcp.sender.outage != null && kcp.sender.losses.unacknowledged() == unacknowledged) {
      endWithoutProgress(kcp, (effects & ANSWER) != 0, nowUs);
    }
    kcp.isLastInputFresh = !isStale && (isFresh || !kcp.sender.isFreshnessExpected());
  }

  /** A datagram that acknowledges nothing may tell that an outage is over. */
  private static void endWithoutProgress(Kcp kcp, boolean isAnswer, long nowUs) {
    if (isAnswer) {
      kcp.sender.outage.onProbeAnswered(nowUs);
    } else {
      kcp.sender.outage.onDatagramReceived(nowUs);
    }
  }

  /** A WASK, or a WINS, whose window has been taken. */
  private static int window(Kcp kcp, int cmd, int wnd, int length, long nowUs) {
    if (cmd == Segment.WASK) {
      kcp.receiver.probed();
      return 0;
    }
    // The answer to a probe says nothing about the segment.
    boolean isUpdate = wnd > 0 && !kcp.sender.isProbing();
    BlackHoleDetector blackHoles = kcp.sender.blackHolesIfAny();
    if (length == 0 && blackHoles != null) {
      blackHoles.windowReceived(nowUs);
    }
    return isUpdate ? WINDOW_UPDATE : 0;
  }

  private static void endControl(Kcp kcp, int effects, boolean isStale, long nowUs) {
    boolean isWindowUpdate = (effects & WINDOW_UPDATE) != 0 && !isStale;
    if (isWindowUpdate) {
      kcp.sender.events.windowUpdated();
    }
    if ((effects & EXACT_ACK) != 0 && kcp.sender.limit != null) {
      kcp.sender.resetBackOff(nowUs); // It was held back here.
    } else if (isWindowUpdate && !kcp.sender.isOutageProbed()) {
      sendOldestAgain(kcp, nowUs);
    }
  }

  /**
   * Takes the message of the extension in a WINS, if that is the last segment. Returns false if its
   * sender may not know the session.
   */
  private static boolean receiveMessage(
      Kcp kcp, ByteBuf datagram, int index, boolean begins, boolean hasExactAck, long nowUs) {
    if (!kcp.takesMessages()) {
      return true;
    }
    int length = Segment.length(Segment.third(datagram, index));
    int message = index + Segment.HEADER_BYTES;
    if (!Segment.isEnd(datagram, message + length)) {
      return true;
    }
    kcp.makeExtension();
    return kcp.sender.extension.received(datagram, message, length, begins, hasExactAck, nowUs);
  }

  /**
   * Whether an ACK has the sequence number and the timestamp of a segment that was sent. Only the
   * first of a datagram proves that the peer receives: the others could be guesses.
   */
  private static boolean isExact(Kcp kcp, long second, boolean isFirst) {
    int sn = Segment.sn(second);
    int ts = Segment.ts(second);
    boolean isExact =
        kcp.sender.wasSent(sn, ts)
            || (kcp.sender.limit != null && kcp.sender.limit.hasSent(sn, ts));
    if (isExact) {
      kcp.isPeerProven |= isFirst || kcp.isProofAwaited();
      if (kcp.sender.extension != null) {
        kcp.sender.extension.acknowledged(sn, ts);
      }
    }
    return isExact;
  }

  /**
   * The {@code una} of a WASK or WINS. With a timestamp of the own clock it may be one of this
   * side, sent back: what only it says counts as older than all before; protocol.md 2.7.
   */
  private static int una(Kcp kcp, int ts, int una, long nowUs) {
    int newest = kcp.sender.remote.una();
    boolean isOwn = kcp.sender.timestamps.isOfOwnClock(ts, kcp.sender.timestamps.at(nowUs));
    return isOwn && una - newest > 0 ? newest - 1 : una;
  }

  private static void updateRemoteWindow(Kcp kcp, int una, int wnd) {
    if (kcp.sender.remote.update(una, wnd, kcp.sender.buffer)) {
      kcp.windowOpened = kcp.sender.hasNew();
    }
  }

  private static int push(
      Kcp kcp, long first, long second, ByteBuf datagram, int index, int length, long nowUs) {
    int next = kcp.receiver.next();
    int payload = index + Segment.HEADER_BYTES;
    int frg = Segment.frg(first);
    int sn = Segment.sn(second);
    int ts = Segment.ts(second);
    PeerClock peerClock = kcp.sender.timestamps.peerClock();
    if (peerClock != null && !peerClock.isPossible(ts, nowUs)) {
      kcp.sender.counters.add(KcpCounter.FOREIGN_TIMESTAMP, 1);
      return 0;
    }
    if (kcp.receiver.push(sn, ts, frg, datagram, payload, length)) {
      if (peerClock != null) {
        peerClock.taken(ts, nowUs);
      }
    }
    kcp.failOnBadFragments();
    boolean isNew = kcp.receiver.next() != next;
    return kcp.sender.timestamps.takePeer(ts, isNew, nowUs) || isNew ? FRESH : 0;
  }

  /**
   * Takes one ACK, whose round trip the estimator notes: protocol.md 2.4.
   *
   * @param effects those of the segments before it
   */
  private static int acknowledge(Kcp kcp, long second, int effects, long nowUs) {
    int sn = Segment.sn(second);
    int ts = Segment.ts(second);
    boolean isExact =
        (kcp.takesMessages() || !kcp.isPeerProven) && isExact(kcp, second, (effects & ACK) == 0);
    int own = isExact ? ACK | EXACT_ACK : ACK;
    int nowTs = kcp.sender.timestamps.at(nowUs);
    SendBuffer sending = kcp.sender.buffer;
    if (!sending.isAwaited(sn)) { // As a challenge never is.
      return kcp.sender.takeAnswer(ts, nowTs, nowUs) ? own | FRESH | ANSWER : own;
    }
    int index = sending.index(sn);
    boolean genuine = kcp.sender.losses.wasSentAt(index, ts);
    int rttUs = kcp.sender.losses.rttUs(index, ts, nowTs, nowUs);
    sending.acknowledge(sn, ts, rttUs, nowUs);
    if (genuine) {
      kcp.sender.rtt.note(rttUs, nowUs);
    } else {
      kcp.sender.counters.add(KcpCounter.INVALID_TIMESTAMP, 1);
    }
    return own;
  }

  /**
   * Ends the acknowledgements of a datagram, before which so many segments were {@code
   * unacknowledged}.
   */
  private static void acknowledgeBelow(
      Kcp kcp, int una, int unacknowledged, int rttSampleUs, long nowUs) {
    SendBuffer sending = kcp.sender.buffer;
    LossDetector losses = kcp.sender.losses;
    int unaBefore = sending.una();
    if (una - unaBefore <= 0 && losses.unacknowledged() == unacknowledged) {
      return; // Nothing has been acknowledged.
    }
    if (losses.unacknowledged() != unacknowledged) {
      losses.endAcks(nowUs);
    }
    if (una - unaBefore > 0) {
      losses.unaAdvances(sending.index(unaBefore), nowUs);
    }
    sending.acknowledgeBelow(una, nowUs);
    int acknowledged = unacknowledged - losses.unacknowledged();
    if (acknowledged != 0) {
      losses.endInput(nowUs);
      kcp.sender.userTimeout.progress(nowUs);
      if (kcp.sender.outage != null) {
        kcp.sender.outage.onAcknowledged(nowUs);
      }
      kcp.sender.pacer.acknowledged(acknowledged, nowUs);
    }
    boolean advanced = sending.una() != unaBefore;
    if (kcp.sender.events.isActive()) {
      kcp.sender.events.acknowledged(acknowledged, advanced, rttSampleUs, nowUs);
    }
    if (advanced) {
      kcp.sender.resetBackOff(nowUs);
    }
    if (advanced || (acknowledged != 0 && kcp.sender.events.isWindowSelective())) {
      kcp.windowOpened = kcp.sender.hasNew();
    }
  }

  /**
   * The peer may have had no memory for the oldest segment. Each transmission of the first one of
   * all is a packet that may begin a session, so nobody on the path may have it sent at will: it
   * leaves once in a second, and its back-off goes on.
   */
  private static void sendOldestAgain(Kcp kcp, long nowUs) {
    int una = kcp.sender.buffer.una();
    if (una != kcp.sender.firstSn) {
      kcp.sender.resetBackOff(nowUs);
    } else if (kcp.sender.buffer.isAwaited(una)) {
      int first = kcp.sender.buffer.index(una);
      if (kcp.sender.losses.ring.isRested(first, kcp.sender.timestamps.at(nowUs))) {
        kcp.sender.losses.expire(first, nowUs);
      }
    }
  }
}
