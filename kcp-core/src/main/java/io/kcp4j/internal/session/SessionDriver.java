package io.kcp4j.internal.session;

import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpTracer.Origin;
import io.kcp4j.internal.admission.StatelessResponder;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.Kcp.InputResult;
import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.extension.Extension;
import io.kcp4j.internal.path.Path;
import io.kcp4j.internal.wire.Time;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;

/**
 * Drives the sessions of a table, one at a time: gives them what was received, has their owners
 * read it, flushes them, and ends those that what was received or sent has shown to be over. Also
 * writes the packets that belong to no session.
 */
final class SessionDriver implements FlushQueue.Driver, StatelessResponder.Output {

  private final SessionTable.Handler handler;
  private final SessionLifecycle lifecycle;
  private final SessionIndex index;
  private final MemoryPressure pressure;
  private final FlushQueue queue;
  private final PacketOutput output;
  private final FecLayer unprotected;
  private final int maxDatagramBytes;

  /**
   * Makes a driver.
   *
   * @param unprotected stands for the FEC of packets that belong to no session
   * @param maxDatagramBytes the largest of these, in bytes
   */
  SessionDriver(
      SessionTable.Handler handler,
      SessionLifecycle lifecycle,
      SessionIndex index,
      MemoryPressure pressure,
      TimerWheel deadlines,
      PacketCipher cipher,
      FecLayer unprotected,
      int maxDatagramBytes) {
    this.handler = handler;
    this.lifecycle = lifecycle;
    this.index = index;
    this.pressure = pressure;
    this.unprotected = unprotected;
    this.maxDatagramBytes = maxDatagramBytes;
    output = new PacketOutput(cipher);
    queue = new FlushQueue(handler, this, deadlines);
  }

  FlushQueue queue() {
    return queue;
  }

  void cipher(PacketCipher cipher) {
    output.cipher(cipher);
  }

  // Input

  /** Gives segments to a session. */
  InputResult input(Session session, ByteBuf segments, Origin origin, long nowUs) {
    InputResult result = session.kcp().input(segments, origin, nowUs);
    if (result != InputResult.ACCEPTED) {
      return result;
    }
    pressure.onInput(session, nowUs);
    boolean isProof = !session.path().isValidated() && session.isPeerProven();
    if (isProof) {
      lifecycle.validated(session, nowUs);
    }
    boolean isFresh = isProof || session.kcp().isLastInputFresh();
    if (isFresh) {
      session.onReceived(nowUs);
    }
    if (session.extension() != null) {
      endInput(session, session.extension(), isFresh, nowUs);
    }
    // Not after a last acknowledgement, or a probe's answer.
    boolean isQuiescent = isQuiescent(session);
    if (isQuiescent) {
      queue.deadline(session, Time.NO_DEADLINE);
    }
    queue.onInput(session, !isQuiescent);
    return result;
  }

  private void endInput(Session session, Extension extension, boolean isFresh, long nowUs) {
    if (extension.endDatagram(!isFresh, nowUs)) {
      session.kcp().reconfigure(session.kcp().config()); // Offers reserve no room any more.
    }
    if (extension.hasNews()) {
      receiveNews(session, extension);
    }
    if (session.keepAlive().hasIdleTimeout() && session.takeUnreliableReceived()) {
      session.keepAlive().updateIdle(nowUs);
    }
  }

  /** What the table has to know of a session's extension: seldom more than once. */
  private void receiveNews(Session session, Extension extension) {
    if (extension.takeIdHandedOut()) {
      index.addId(session);
    }
    if (extension.items().takeEnd()) {
      lifecycle.endLater(session, EndReason.SESSION_UNKNOWN);
    }
    if (extension.parameters().takeMismatch()) {
      handler.mismatched(KcpCounter.DELIVERY_MISMATCHED, session.remote());
      lifecycle.endLater(session, EndReason.DELIVERY_MISMATCHED);
    }
  }

  /** Whether the client of a session has made an offer that has begun again; once for each. */
  static boolean takeSuccessor(Session session) {
    Extension extension = session.extension();
    return extension != null && extension.parameters().takeSuccessor();
  }

  /**
   * Gives FEC data to a session, and the datagrams that it recovers.
   *
   * @param start where the header of FEC begins
   */
  void inputFecData(Session session, ByteBuf packet, int start, long nowUs) {
    if (!session.fec().isDecoding() && session.path().mayHoldPackets()) {
      session.ownFec().startDecoding();
    }
    inputFec(session, packet, start, session.kcp().isLastInputFresh(), nowUs);
  }

  /**
   * Gives an FEC packet to a session, and the datagrams that it recovers.
   *
   * @param start where the header of FEC begins
   * @param isFresh whether the packet is no replay
   */
  void inputFec(Session session, ByteBuf packet, int start, boolean isFresh, long nowUs) {
    if (!session.fec().isDecoding()) {
      return;
    }
    FecLayer fec = session.fec();
    fec.input(packet, start, isFresh, nowUs);
    for (ByteBuf recovered; (recovered = fec.nextRecovered()) != null; ) {
      if (input(session, recovered, Origin.RECOVERED, nowUs) == InputResult.ACCEPTED) {
        session.kcp().counters().add(KcpCounter.FEC_RECOVERED, 1);
      }
      takeSuccessor(session); // No session begins with a recovered datagram.
    }
  }

  /** Gives an unreliable datagram to a session, whose payload begins at {@code payload}. */
  void inputUnreliable(Session session, ByteBuf packet, int payload, long nowUs) {
    session.unreliable().receive(packet, payload, packet.writerIndex() - payload);
    session.keepAlive().updateIdle(nowUs);
    if (!session.path().isValidated()) { // Else it may be a replay.
      session.onReceived(nowUs);
    }
    queue.onInput(session, !isQuiescent(session)); // Its owner may read, and open the window.
  }

  private static boolean isQuiescent(Session session) {
    return session.kcp().isQuiescent()
        && session.fec().deadlineUs() == FecLayer.NO_DEADLINE
        && !session.hasUnreliableToSend(); // The path may allow for more now.
  }

  @Override
  public void deliver(Session session, long nowUs) {
    if (session.isClosing()) {
      if (session.isCloseAnswered() || session.hasPeerReset()) {
        answerEnd(session, nowUs);
        lifecycle.endClosing(session, nowUs);
      }
    } else if (session.hasPeerReset()) {
      try {
        answerEnd(session, nowUs);
      } finally {
        lifecycle.end(session, EndReason.RESET, nowUs);
      }
    } else {
      session.owner().progressed(session);
    }
    session.kcp().endDelivery();
  }

  // Output

  @Override
  public long flush(Session session, long nowUs) {
    Kcp kcp = session.kcp();
    boolean wasReceivable = kcp.isReceivable();
    boolean wasSendBlocked = kcp.isSendDeferred();
    try {
      write(session, nowUs);
    } catch (RuntimeException | Error e) { // For want of memory: the session will be tried again.
      queue.deadline(session, nowUs + 1_000L * kcp.config().intervalMs());
      throw e;
    }
    session.keepAlive().onFlushed(nowUs);
    boolean wasDue = session.isDue();
    queue.onFlushed(session);
    EndReason reason = endReason(session, nowUs);
    if (reason != null) {
      lifecycle.end(session, reason, nowUs);
      return handler.readNowUs(nowUs);
    }
    queue.deadline(session, Math.min(kcp.nextDeadline(), session.fec().deadlineUs()));
    if (session.isClosing()) {
      return nowUs;
    }
    if (wasDue) {
      session.keepAlive().checkResponse(nowUs);
      if (!queue.contains(session)) {
        return handler.readNowUs(nowUs);
      }
    }
    boolean delivers = !wasReceivable && kcp.isReceivable();
    if (delivers || (wasSendBlocked && kcp.isSendable()) || kcp.takeSendRetry()) {
      session.owner().progressed(session); // What moves on was blocked, mostly for want of memory.
      if (delivers && queue.contains(session)) {
        queue.onWrite(session); // Its receive window may have opened.
      }
      return handler.readNowUs(nowUs);
    }
    return nowUs;
  }

  /** Why a session has to end, as a flush has shown; null if it goes on. */
  private static EndReason endReason(Session session, long nowUs) {
    if (session.kcp().failure() != null) {
      return session.kcp().failure();
    }
    Extension extension = session.extension();
    if (extension == null) {
      return null;
    }
    if (extension.items().isUnknownToPeer(nowUs)) {
      return EndReason.SESSION_UNKNOWN;
    }
    if (extension.offers() != null && extension.offers().isRefused(nowUs)) {
      return EndReason.REFUSED;
    }
    boolean isWithoutLanes = session.lanes() != null && session.lanes().isUnsupported();
    return isWithoutLanes && !session.isClosing() ? EndReason.LANES_UNSUPPORTED : null;
  }

  private void write(Session session, long nowUs) {
    Kcp kcp = session.kcp();
    outputTo(session, nowUs);
    boolean isLimited = !session.path().isValidated();
    if (!isLimited) {
      session.flushUnreliable(output);
    }
    boolean isRepairDue = session.fec().deadlineUs() <= nowUs;
    if (isRepairDue) {
      output.repair();
    }
    if (session.isDue() && !(isRepairDue && nowUs < kcp.nextDeadline())) {
      kcp.flush(nowUs, output);
    }
    if (session.hasWritten()) {
      kcp.afterSend(nowUs, output);
    }
    if (session.hasInput()) {
      kcp.afterInput(nowUs, output);
    }
    if (isLimited) { // Acknowledgements take what the limit allows for first.
      session.flushUnreliable(output);
    }
    kcp.charge(output.addedBytes(), output.unpacedBytes(), nowUs);
  }

  /** Answers what the peer says about the end of a session that is about to be closed. */
  void answerEnd(Session session, long nowUs) {
    if (session.isEndAnswerDue() && handler.isOutputWritable()) {
      flushNow(session, nowUs);
    }
  }

  /** Flushes a session that is about to be closed, whatever it waits for. */
  void flushNow(Session session, long nowUs) {
    outputTo(session, nowUs);
    session.flushUnreliable(output);
    session.kcp().flush(nowUs, output);
    output.endGroup();
    handler.flushOutput();
  }

  private void outputTo(Session session, long nowUs) {
    int mtuBytes = session.kcp().maxPacketBytes();
    Path path = session.path();
    path.beginOutput(nowUs);
    session.fec().beginOutput(session.kcp());
    output.to(handler.output(path.remote()), path, session.fec(), mtuBytes, nowUs);
  }

  // Packets of no session

  @Override
  public boolean isWritable() {
    return handler.isOutputWritable();
  }

  @Override
  public ByteBuf begin(InetSocketAddress remote, int bytes) {
    output.to(handler.output(remote), new Path(remote), unprotected, maxDatagramBytes, 0);
    return output.begin(bytes);
  }

  @Override
  public void end() {
    output.end();
    queue.onOutput();
  }
}
