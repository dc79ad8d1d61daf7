package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CloseReason;
import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Runs a cell of {@link EndingTest}: a session begins, both sides read and write, one of them ends
 * it, and the other one is told.
 */
final class EndingRun {

  private static final int MS = 1_000;
  private static final int SECOND_US = 1_000_000;
  private static final int ROUND_TRIP_US = 2 * Link.DELAY_US;

  /** A message of this size leaves room for an offer of the extension. */
  private static final int FIRST_BYTES = 100;

  private static final int SOME_BYTES = 20_000;

  /** More than windows and queues have room for. */
  private static final int MANY_BYTES = 300_000;

  private static final int WINDOW = 64;

  /** What has to be transferred is by then. */
  private static final int TRANSFER_US = 10 * SECOND_US;

  /** Sessions that nobody answers have gone by then: 13.4.5. */
  private static final int CLOSING_US = 10 * SECOND_US + SECOND_US / 2;

  private static final int RESTART_US = 200 * MS;
  private static final int SHORT_STOP_US = 5 * SECOND_US;
  private static final int LONG_STOP_US = 36 * SECOND_US;
  private static final byte SECRET = 1;
  private static final byte OTHER_SECRET = 2;
  private static final CloseReason BANNED = new CloseReason(3, "banned");

  private final EndingTest.Cell cell;
  private final EndingNetwork network;

  /** The side that ends the session. */
  private final EndingHost ender;

  /** The one that is told. */
  private final EndingHost other;

  private long endsAtUs;
  private int probeTimeoutUs;

  /** What the ender had written, and the other side has acknowledged, before the end. */
  private int acknowledgedBytes;

  /** What the server has of other sessions. */
  private int otherSessions;

  private long otherBytes;

  EndingRun(EndingTest.Cell cell) {
    this.cell = cell;
    EndingHost client = host(1);
    client.host.token = 0x1122_3344_5566_7788L;
    EndingHost server = server(SECRET);
    network = new EndingNetwork(client, server, cell.link(), cell.seed());
    boolean isByClient = cell.side() == Ending.Side.CLIENT;
    ender = isByClient ? client : server;
    other = isByClient ? server : client;
  }

  private EndingHost host(int port) {
    EndingHost host = new EndingHost(port, cell.carrier());
    KcpConfig.Builder config = host.host.config.toBuilder();
    host.host.config = config.receiveWindow(WINDOW).sendQueue(WINDOW).build();
    return host;
  }

  private EndingHost server(byte secret) {
    EndingHost server = host(2);
    server.host.token = 0x99aa_bbcc_ddee_ff00L + secret;
    byte[] secretBytes = new byte[ResetTokens.MIN_SECRET_BYTES];
    secretBytes[0] = secret;
    server.host.driver.table.resetTokens(new ResetTokens(secretBytes));
    return server;
  }

  void run() {
    boolean isRefused = cell.ending() == Ending.BANNED || cell.ending() == Ending.FULL;
    if (!isRefused) {
      establish();
    }
    begin();
    switch (cell.ending()) {
      case CLOSE -> close(0);
      case CLOSE_WITH_OUTPUT_PENDING -> close(MANY_BYTES);
      case HALF_CLOSE -> halfClose();
      case GROUP_SHUTDOWN -> shutDownGroup();
      case GROUP_SHUTDOWN_WITH_OUTPUT_PENDING -> shutDownGroupWithOutputPending();
      case CLOSE_TO_A_PEER_THAT_NEVER_READS, CLOSE_TO_LANES_THAT_ARE_NEVER_READ -> failToClose();
      case KILLED_WITH_DATA_IN_FLIGHT -> kill(SOME_BYTES, false);
      case KILLED_WITH_DATA_IN_FLIGHT_PORT_UNREACHABLE -> kill(SOME_BYTES, true);
      case KILLED_IDLE -> kill(0, false);
      case KILLED_IDLE_PORT_UNREACHABLE -> kill(0, true);
      case RESTARTED_WITH_THE_SECRET -> restart(SECRET);
      case RESTARTED_WITHOUT_THE_SECRET -> restart(OTHER_SECRET);
      case STOPPED_FOR_5_SECONDS -> stopAndGoOn();
      case STOPPED_FOR_36_SECONDS -> stopForLong();
      case BANNED -> refuse(BANNED);
      case FULL -> refuse(new CloseReason(0, "the server is full"));
    }
    checkNothingLeft();
  }

  private void establish() {
    network.client.open(network.server);
    network.client.user.write(FIRST_BYTES);
    network.client.user.write(SOME_BYTES);
    awaitRead(network.server, network.client);
    network.server.user.write(SOME_BYTES);
    awaitRead(network.client, network.server);
    other.user.isPaused = cell.link() == Link.PAUSED_READER;
    ender.user.write(SOME_BYTES);
    await("acknowledged", () -> isAcknowledged(network.client) && isAcknowledged(network.server));
    network.run(SECOND_US);
    assertTrue(other.host.session.isExtensionEstablished(), "extension established");
    acknowledgedBytes = ender.user.written();
  }

  private static boolean isAcknowledged(EndingHost host) {
    return host.user.isQueued() && host.host.session.kcp().isDrained();
  }

  /** The session ends now. */
  private void begin() {
    endsAtUs = network.nowUs();
    Session session = ender.host.session;
    probeTimeoutUs = session == null ? 0 : session.kcp().probeTimeoutUs();
  }

  private void writeBoth(int bytes) {
    ender.user.write(bytes);
    other.user.write(bytes);
    network.run(2 * MS);
    begin();
  }

  // How it ends

  private void close(int pendingBytes) {
    if (pendingBytes > 0) {
      ender.user.write(pendingBytes);
    }
    ender.close();
    checkTold(other);
    checkRead(other, ender);
    checkClosed(ender);
  }

  private void halfClose() {
    other.isAllowHalfClosure = true;
    ender.shutdownOutput();
    checkTold(other);
    checkRead(other, ender);
    other.user.write(SOME_BYTES);
    other.close();
    begin();
    checkTold(ender);
    checkRead(ender, other);
    checkClosed(ender);
    checkClosed(other);
  }

  private void shutDownGroup() {
    ender.shutDownGroup();
    ender.isGone = true;
    checkTold(other);
    checkRead(other, ender);
  }

  private void shutDownGroupWithOutputPending() {
    ender.user.write(MANY_BYTES);
    ender.close();
    network.run(50 * MS);
    begin();
    ender.shutDownGroup();
    ender.isGone = true;
    awaitTold(other);
    if (cell.carrier() == Carrier.SMUX) { // What waits above the session is not missing there.
      assertFalse(other.user.hasReadEnd(), "the stream has not ended");
    } else {
      assertTrue(ender.isCloseFailed(), "the close fails");
      assertEquals(reason(), other.reason());
    }
    checkTime(other);
    assertTrue(other.user.bytesRead() >= acknowledgedBytes, "what has arrived is read");
    assertTrue(other.user.bytesRead() < ender.user.written(), "some is missing");
  }

  private void failToClose() {
    other.user.isPaused = true;
    ender.user.write(MANY_BYTES);
    ender.close();
    checkTold(ender);
    assertTrue(ender.isCloseFailed(), "the close fails");
    network.run(SECOND_US);
    other.resume();
    awaitTold(other);
    assertEquals(EndReason.INPUT_INCOMPLETE, other.reason());
    assertTrue(other.user.bytesRead() > acknowledgedBytes, "what has arrived is read");
    assertTrue(other.user.bytesRead() < ender.user.written(), "some is missing");
  }

  private void kill(int bytesInFlight, boolean isPortUnreachable) {
    if (bytesInFlight > 0) {
      writeBoth(bytesInFlight);
    }
    network.isPortUnreachable = isPortUnreachable;
    ender.isGone = true;
    checkTold(other);
    checkArrived();
  }

  private void restart(byte secret) {
    writeBoth(SOME_BYTES);
    ender.isGone = true;
    network.run(RESTART_US);
    network.server = server(secret);
    network.server.host.nowUs = network.nowUs();
    checkTold(other);
    checkArrived();
  }

  private void stopAndGoOn() {
    writeBoth(SOME_BYTES);
    ender.isStopped = true;
    network.run(SHORT_STOP_US);
    ender.isStopped = false;
    other.resume();
    begin();
    awaitRead(ender, other);
    awaitRead(other, ender);
    checkTime(network.nowUs() - endsAtUs, limitUs());
    ender.close();
    awaitTold(other);
    assertEquals(reason(), other.reason());
    checkClosed(ender);
  }

  private void stopForLong() {
    network.isClientSocketItsOwn = false; // Else nobody is left who can answer a server.
    writeBoth(MANY_BYTES);
    ender.isStopped = true;
    network.run(Link.PAUSE_US);
    other.resume();
    network.run(LONG_STOP_US - Link.PAUSE_US);
    assertEquals(EndReason.USER_TIMEOUT, other.reason());
    checkArrived();
    ender.isStopped = false;
    endsAtUs = network.nowUs();
    checkTold(ender);
  }

  private void refuse(CloseReason expected) {
    VirtualHost server = network.server.host;
    if (cell.ending() == Ending.FULL) {
      fill(server);
    } else {
      server.driver.acceptor = (remote, conv) -> null;
      server.driver.refusal = expected;
    }
    network.client.open(network.server);
    probeTimeoutUs = network.client.host.session.kcp().probeTimeoutUs();
    network.client.user.write(FIRST_BYTES);
    checkTold(network.client);
    assertEquals(expected, network.client.host.session.peerReason());
  }

  /** The server has as many sessions as it may have. */
  private void fill(VirtualHost server) {
    KcpConfig config = server.config;
    server.config = config.toBuilder().delivery(Delivery.STREAM).build();
    server.driver.onProgress = session -> {};
    for (int port = 100; port < 100 + VirtualHost.MAX_SESSIONS; port++) {
      ByteBuf push = Unpooled.buffer();
      Segment.write(push, VirtualHost.CONV, Segment.PUSH, 0, 128, 1, 0, 0, 0);
      server.take(new VirtualHost(port), List.of(push));
    }
    server.driver.accepted.forEach(
        session -> server.driver.table.lifecycle().validated(session, server.nowUs));
    server.packets();
    server.config = config;
    otherSessions = server.driver.table.size();
    otherBytes = server.context().budget().usedBytes();
  }

  // What has to hold

  private EndReason reason() {
    return cell.ending().reason(cell.carrier(), cell.link());
  }

  private void checkTold(EndingHost host) {
    awaitTold(host);
    assertEquals(reason(), host.reason());
    checkTime(host);
  }

  private void awaitTold(EndingHost host) {
    BooleanSupplier isTold = () -> host.toldAtUs() != 0;
    boolean isPaused = cell.link() == Link.PAUSED_READER && other.user.isPaused;
    if (isPaused && !network.runUntil(isTold, Link.PAUSE_US)) {
      other.resume();
    }
    assertTrue(network.runUntil(isTold, limitUs() + TRANSFER_US), "told");
  }

  private void checkTime(EndingHost host) {
    boolean isTcp = cell.ending().limit.isTcp();
    long sinceUs = isTcp ? Math.max(endsAtUs, host.user.lastReadAtUs()) : endsAtUs;
    checkTime(host.toldAtUs() - sinceUs, limitUs());
  }

  private long limitUs() {
    Ending.Limit limit = cell.ending().limit;
    long us = (long) limit.ms(cell.link()) * MS;
    return limit.isTcp() ? us + 2 * ROUND_TRIP_US + probeTimeoutUs : us;
  }

  private void checkTime(long us, long limitUs) {
    assertTrue(us <= limitUs, () -> us / MS + " ms, of at most " + limitUs / MS);
  }

  private void await(String what, BooleanSupplier condition) {
    assertTrue(network.runUntil(condition, TRANSFER_US), what);
  }

  private void awaitRead(EndingHost reader, EndingHost writer) {
    await("read", () -> reader.user.bytesRead() == writer.user.written());
  }

  private void checkRead(EndingHost reader, EndingHost writer) {
    assertEquals(writer.user.written(), reader.user.bytesRead(), "bytes read");
    boolean hasEnd = cell.carrier() == Carrier.SMUX && cell.ending() != Ending.GROUP_SHUTDOWN;
    assertEquals(hasEnd, reader.user.hasReadEnd(), "end of the stream");
  }

  /** The close of a side has succeeded. */
  private void checkClosed(EndingHost host) {
    await("closed", host::isClosed);
    assertEquals(null, host.reason());
    assertFalse(host.isCloseFailed(), "the close fails");
  }

  /** What has arrived can be read, unless the session ends while its reader is paused. */
  private void checkArrived() {
    boolean isDiscarded = other.user.isPaused && cell.carrier() != Carrier.SMUX;
    other.resume();
    int least = isDiscarded ? 0 : acknowledgedBytes;
    assertTrue(other.user.bytesRead() >= least, "what has arrived is read");
  }

  private void checkNothingLeft() {
    network.runUntil(() -> isOver(network.client) && isOver(network.server), CLOSING_US);
    for (EndingHost host : List.of(network.client, network.server)) {
      if (!host.isKilled()) {
        VirtualHost left = host.host;
        boolean isServer = host == network.server;
        assertEquals(isServer ? otherSessions : 0, left.driver.table.size(), "sessions");
        assertEquals(isServer ? otherBytes : 0, left.context().budget().usedBytes(), "memory");
        assertEquals(0, left.driver.deadlines.size(), "timers");
      }
    }
  }

  private boolean isOver(EndingHost host) {
    int sessions = host == network.server ? otherSessions : 0;
    return host.isKilled() || host.host.driver.table.size() == sessions;
  }
}
