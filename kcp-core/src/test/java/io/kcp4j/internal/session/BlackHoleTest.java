package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpTracer;
import io.kcp4j.LossDetection;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.lanes.Lane;
import io.kcp4j.internal.lanes.OutboundMessage;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** A path that drops datagrams above a size, and says nothing: protocol.md 4.13. */
class BlackHoleTest {

  private static final int DELAY_US = 20_000;

  /** The largest UDP payload of an IPv4 packet of 1280 bytes. */
  private static final int LARGEST = 1280 - 28;

  private static final int BULK_BYTES = 200_000;
  private static final int MAP = 1;
  private static final int EVENTS = 2;

  private VirtualHost client = new VirtualHost(1);
  private VirtualHost server = new VirtualHost(2);
  private final Queue<InFlight> toServer = new ArrayDeque<>();
  private final Queue<InFlight> toClient = new ArrayDeque<>();
  private Predicate<ByteBuf> passes = packet -> true;

  /** The bytes of the messages that the server has received on each lane. */
  private final int[] laneBytes = new int[EVENTS + 1];

  private record InFlight(long arrivesAtUs, ByteBuf packet) {}

  private static KcpConfig.Builder large() {
    return KcpConfig.builder().mtuBytes(1400);
  }

  private void begin(KcpConfig.Builder config, FecConfig fec, CipherAlgorithm algorithm) {
    if (algorithm != CipherAlgorithm.NULL) {
      KeyRing keys = KeyRing.of(PacketKey.ofPassphrase(algorithm, "k"));
      client = new VirtualHost(1, keys);
      server = new VirtualHost(2, keys);
    }
    for (VirtualHost host : List.of(client, server)) {
      host.config = config.build();
      host.fec = fec;
    }
    client.token = 0x1234;
    server.token = 0x5678;
    if (client.config.delivery() == Delivery.LANES) {
      server.driver.onProgress = this::readLanes;
      client.driver.onProgress = this::readLanes;
    }
    client.open(server);
    TestDriver.configure(client.session, settings -> settings.datagramQueue(10));
    write(10);
    runFor(500_000);
    assertTrue(server.session.hasPeerAnswered());
    TestDriver.configure(server.session, settings -> settings.datagramQueue(10));
  }

  private void begin(KcpConfig.Builder config) {
    begin(config, FecConfig.NONE, CipherAlgorithm.NULL);
  }

  private void readLanes(Session session) {
    for (Lane lane; (lane = session.lanes().nextNews()) != null; ) {
      for (ByteBuf message; (message = lane.receive()) != null; message.release()) {
        laneBytes[lane.id()] += message.readableBytes();
      }
    }
  }

  /** Writes so many bytes to the server, if the delivery is lanes as one message of the map. */
  private void write(int bytes) {
    if (client.config.delivery() == Delivery.LANES) {
      send(MAP, bytes);
    } else {
      client.write(bytes);
    }
  }

  private void send(int lane, int bytes) {
    client
        .session
        .lanes()
        .lane(lane)
        .send(
            new OutboundMessage(Unpooled.buffer().writeZero(bytes)) {
              @Override
              protected void sent() {}

              @Override
              protected void dropped(Drop reason) {}
            });
    client.flush();
  }

  private int received() {
    return server.received + laneBytes[MAP] + laneBytes[EVENTS];
  }

  private void runFor(long us) {
    for (long endUs = client.nowUs + us; client.nowUs < endUs; ) {
      step();
    }
  }

  private void step() {
    client.runTo(client.nowUs + 1_000);
    server.runTo(server.nowUs + 1_000);
    carry(client, server, toServer);
    carry(server, client, toClient);
  }

  private void carry(VirtualHost from, VirtualHost to, Queue<InFlight> link) {
    for (ByteBuf packet : from.packets()) {
      if (passes.test(packet)) {
        link.add(new InFlight(from.nowUs + DELAY_US, packet));
      }
    }
    List<ByteBuf> batch = new ArrayList<>();
    while (!link.isEmpty() && link.peek().arrivesAtUs <= to.nowUs) {
      batch.add(link.remove().packet);
    }
    if (!batch.isEmpty()) {
      to.take(from, batch);
    }
  }

  private static boolean fits(ByteBuf packet) {
    return packet.readableBytes() <= LARGEST;
  }

  /** Writes the bulk, as far as the session takes it, until all has arrived or it ends. */
  private void transfer(int bytes, int seconds) {
    int before = received();
    ByteBuf left = Unpooled.buffer().writeZero(bytes);
    for (long endUs = client.nowUs + seconds * 1_000_000L;
        client.nowUs < endUs && client.ends.isEmpty() && received() < before + bytes; ) {
      if (client.config.delivery() == Delivery.LANES) {
        if (left.isReadable()) {
          send(MAP, left.readableBytes());
          left.clear();
        }
      } else {
        sendSome(left);
      }
      step();
    }
  }

  private void sendSome(ByteBuf left) {
    boolean isStream = client.config.delivery() == Delivery.STREAM;
    while (left.isReadable() && client.session.kcp().isSendable()) {
      int bytes = isStream ? left.readableBytes() : Math.min(left.readableBytes(), 20_000);
      ByteBuf part = left.readSlice(bytes);
      client.session.kcp().send(part);
      left.readerIndex(left.readerIndex() - part.readableBytes());
    }
    client.flush();
  }

  private static Stream<Arguments> layers() {
    List<Arguments> all = new ArrayList<>();
    for (Delivery delivery : Delivery.values()) {
      for (FecConfig fec : List.of(FecConfig.NONE, FecConfig.of(10, 3))) {
        for (CipherAlgorithm algorithm :
            List.of(CipherAlgorithm.NULL, CipherAlgorithm.AES_128_GCM)) {
          all.add(Arguments.of(delivery, fec, algorithm));
        }
      }
    }
    return all.stream();
  }

  /** The largest first transmission from now on, with the overhead of all layers. */
  private static final class LargestNew implements KcpTracer {
    int payloadBytes;

    @Override
    public void segmentSent(long nowUs, int sn, int bytes, int transmission) {
      if (transmission == 1) {
        payloadBytes = Math.max(payloadBytes, bytes);
      }
    }
  }

  @ParameterizedTest
  @MethodSource("layers")
  void everythingArrivesWithTheDefaultMtu(
      Delivery delivery, FecConfig fec, CipherAlgorithm algorithm) {
    passes = BlackHoleTest::fits;
    begin(KcpConfig.builder().delivery(delivery), fec, algorithm);
    transfer(BULK_BYTES, 20);
    assertEquals(10 + BULK_BYTES, received());
    assertEquals(0, client.count(KcpCounter.MTU_BLACK_HOLES));
    assertEquals(List.of(), client.ends);
  }

  @ParameterizedTest
  @MethodSource("layers")
  void newSegmentsAreSmallerBehindABlackHole(
      Delivery delivery, FecConfig fec, CipherAlgorithm algorithm) {
    begin(large().delivery(delivery), fec, algorithm);
    int mssBytes = client.session.kcp().mssBytes();
    int unreliableBytes = client.session.maxUnreliableBytes();
    int messageBytes = client.session.kcp().maxMessageBytes();
    passes = BlackHoleTest::fits;
    transfer(BULK_BYTES, 5);
    assertEquals(1, client.count(KcpCounter.MTU_BLACK_HOLES));
    assertEquals(1200, client.session.kcp().stats().mtuBytes());
    assertEquals(mssBytes - 200, client.session.kcp().mssBytes());
    assertEquals(unreliableBytes - 200, client.session.maxUnreliableBytes());
    assertEquals(messageBytes - 200 * 127, client.session.kcp().maxMessageBytes());
    if (delivery == Delivery.LANES) {
      client.session.lanes().lane(EVENTS).config(LaneConfig.of(LaneKind.UNRELIABLE));
      assertEquals(mssBytes - 200 - 22, client.session.lanes().lane(EVENTS).maxMessageBytes());
    }

    LargestNew largest = new LargestNew();
    client.session.kcp().tracer(largest);
    transfer(BULK_BYTES, 60);
    assertEquals(List.of(EndReason.PATH_MTU), client.ends);
    if (delivery != Delivery.MESSAGE) { // What was queued in message mode keeps its fragments.
      assertTrue(largest.payloadBytes <= mssBytes - 200, "payload: " + largest.payloadBytes);
    }
    assertEquals(
        "datagrams of 1400 bytes do not arrive, but smaller ones do (MTU 1400)",
        client.session.kcp().lossDetail());
    assertEquals(0, server.count(KcpCounter.MTU_BLACK_HOLES));
  }

  // A session that goes on

  @ParameterizedTest
  @EnumSource
  void smallMessagesThatShareLargeDatagramsArriveInSmallerOnes(LossDetection detection) {
    begin(large().delivery(Delivery.MESSAGE).lossDetection(detection));
    passes = BlackHoleTest::fits;
    for (int i = 0; i < 4; i++) { // With their headers, 1,296 bytes.
      client.session.kcp().send(Unpooled.buffer().writeZero(300));
    }
    client.flush();
    runFor(3_000_000);
    assertEquals(10 + 4 * 300, received());
    assertEquals(1, client.count(KcpCounter.MTU_BLACK_HOLES));

    transfer(BULK_BYTES, 20);
    assertEquals(10 + 4 * 300 + BULK_BYTES, received());
    assertEquals(List.of(), client.ends);
  }

  @Test
  void largerMtuOfTheUserDoesNotEndTheLimit() {
    smallMessagesThatShareLargeDatagramsArriveInSmallerOnes(LossDetection.RACK);
    client.session.reconfigure(
        client.config.toBuilder().mtuBytes(1500).sendWindow(300).build(), FecConfig.NONE);
    assertEquals(1176, client.session.kcp().mssBytes());
    client.session.reconfigure(
        client.config.toBuilder().mtuBytes(1000).build(), FecConfig.of(10, 3));
    assertEquals(1000 - 24 - 8, client.session.kcp().mssBytes());
    transfer(10_000, 5);
    assertEquals(1, client.count(KcpCounter.MTU_BLACK_HOLES));
    assertEquals(List.of(), client.ends);
  }

  @Test
  void largestUnreliableDatagramArrivesAfterwards() {
    begin(large().delivery(Delivery.MESSAGE));
    passes = BlackHoleTest::fits;
    for (int i = 0; i < 4; i++) {
      client.session.kcp().send(Unpooled.buffer().writeZero(300));
    }
    client.flush();
    runFor(3_000_000);
    int most = client.session.maxUnreliableBytes();
    client.session.sendUnreliable(Unpooled.buffer().writeZero(most));
    assertThrows(
        IllegalArgumentException.class,
        () -> client.session.sendUnreliable(Unpooled.buffer().writeZero(most + 1)));
    client.flush();
    runFor(100_000);
    assertEquals(most, server.session.receiveUnreliable().readableBytes());
  }

  // One that ends

  private static Stream<Arguments> beginnings() {
    return Stream.of(CongestionControl.BBR, CongestionControl.NONE)
        .flatMap(control -> Stream.of(0, 30, 400).map(ms -> Arguments.of(control, ms)));
  }

  @ParameterizedTest
  @MethodSource("beginnings")
  void blackHoleThatBeginsInTheMiddleIsDetected(CongestionControl.Factory control, int afterMs) {
    begin(large().congestionControl(control).sendWindow(256));
    transfer(BULK_BYTES, 20);
    long fromUs = client.nowUs + afterMs * 1_000L;
    passes = packet -> client.nowUs < fromUs || fits(packet);
    transfer(8_000_000, 60);
    assertEquals(1, client.count(KcpCounter.MTU_BLACK_HOLES));
    assertEquals(List.of(EndReason.PATH_MTU), client.ends);
  }

  @Test
  void segmentThatIsLostAloneEndsTheSessionByItsSize() {
    begin(large().delivery(Delivery.MESSAGE));
    passes = BlackHoleTest::fits;
    client.write(1300);
    runFor(60_000_000);
    assertEquals(List.of(EndReason.PATH_MTU), client.ends);
    assertEquals(
        "datagrams of 1324 bytes do not arrive, but smaller ones do (MTU 1400)",
        client.session.kcp().lossDetail());
    assertEquals(0, client.count(KcpCounter.MTU_BLACK_HOLES), "one segment may be lost often");
  }

  @ParameterizedTest
  @EnumSource
  void pathThatTakesNothingIsNoBlackHole(LossDetection detection) {
    begin(large().lossDetection(detection));
    passes = packet -> false;
    client.write(BULK_BYTES);
    runFor(60_000_000);
    assertEquals(List.of(EndReason.USER_TIMEOUT), client.ends);
    assertEquals(0, client.count(KcpCounter.MTU_BLACK_HOLES));
    assertEquals(
        "datagrams of 1400 bytes do not arrive, smaller ones may (MTU 1400)",
        client.session.kcp().lossDetail());
  }

  /** Servers of kcp4j answer probes of sessions that they do not know. */
  @Test
  void sizeIsKnownThoughTheFirstSegmentNeverArrivesAndTheSessionIsIdle() {
    passes = BlackHoleTest::fits;
    client.config = large().build();
    client.open(server);
    TestDriver.configure(client.session, config -> config.idleTimeoutMs(20_000));
    String[] detail = {""};
    client.driver.onEnd =
        (session, reason) -> detail[0] = reason + ": " + session.kcp().lossDetail();
    client.write(BULK_BYTES);
    runFor(60_000_000);
    assertEquals(
        "IDLE_TIMEOUT: datagrams of 1400 bytes do not arrive, but smaller ones do (MTU 1400)",
        detail[0]);
  }

  @Test
  void outageAfterASmallDatagramHasArrivedIsNoBlackHole() {
    begin(large().delivery(Delivery.MESSAGE));
    long untilUs = client.nowUs + 3_000;
    passes = packet -> client.nowUs < untilUs && fits(packet);
    for (int i = 0; i < 4; i++) {
      client.write(1_300);
    }
    client.write(10);
    passes = passes.or(packet -> client.nowUs < untilUs + 30_000 && packet.readableBytes() < 100);
    runFor(60_000_000);
    assertEquals(List.of(EndReason.USER_TIMEOUT), client.ends);
    assertEquals(0, client.count(KcpCounter.MTU_BLACK_HOLES));
  }

  /** The server advertises its window of its own accord, and nothing reaches it. */
  @Test
  void windowThatWasUnderWayBeforeTheProbeIsNoAnswer() {
    begin(large().userTimeoutMs(60_000));
    int[] probes = {0};
    passes =
        packet -> {
          boolean isAlone = packet.readableBytes() == Segment.HEADER_BYTES;
          probes[0] += isAlone && Segment.cmd(packet, 0) == Segment.WASK ? 1 : 0;
          return false;
        };
    client.write(BULK_BYTES);
    int windows = 0;
    for (int ms = 0; ms < 30_000; ms++) {
      step();
      if (probes[0] > windows) {
        toClient.add(new InFlight(client.nowUs + DELAY_US / 4, window()));
        windows++;
      }
    }
    assertTrue(windows > 0);
    assertEquals(List.of(), client.ends);
    assertEquals(0, client.count(KcpCounter.MTU_BLACK_HOLES));
  }

  private ByteBuf window() {
    ByteBuf out = Unpooled.buffer();
    Segment.write(out, client.session.conv(), Segment.WINS, 0, 128, 0, 0, 1, 0);
    return out;
  }

  @Test
  void failureThatHasNoSizeHasNoDetail() {
    begin(KcpConfig.builder());
    passes = packet -> false;
    client.write(BULK_BYTES);
    runFor(60_000_000);
    assertEquals(List.of(EndReason.USER_TIMEOUT), client.ends);
    assertEquals("", client.session.kcp().lossDetail());
  }

  // Acknowledgements

  @ParameterizedTest
  @EnumSource
  void acknowledgementsShareNoLargeDatagrams(LossDetection detection) {
    begin(
        large()
            .lossDetection(detection)
            .congestionControl(CongestionControl.NONE)
            .maxBurst(0)
            .sendWindow(512)
            .receiveWindow(512));
    int[] pushes = {0};
    passes = packet -> Segment.cmd(packet, 0) == Segment.PUSH ? ++pushes[0] != 10 : fits(packet);
    transfer(500_000, 20);
    assertEquals(10 + 500_000, received());
    assertEquals(1, client.count(KcpCounter.RETRANSMITTED));
  }

  // Losses of another kind

  @ParameterizedTest
  @EnumSource
  void lossOfThirtyPercentEndsNothing(Delivery delivery) {
    begin(large().delivery(delivery));
    SplittableRandom random = new SplittableRandom(1);
    passes = packet -> random.nextInt(10) >= 3;
    long endUs = client.nowUs + 60_000_000;
    int written = received();
    while (client.nowUs < endUs) {
      write(5_000);
      write(50);
      written += 5_050;
      runFor(200_000);
    }
    runFor(5_000_000);
    assertEquals(written, received());
    assertEquals(List.of(), client.ends);
    assertEquals(List.of(), server.ends);
  }

  @ParameterizedTest
  @EnumSource
  void bulkDataKeepsItsSizeUnderLoss(LossDetection detection) {
    begin(large().lossDetection(detection).congestionControl(CongestionControl.NONE));
    SplittableRandom random = new SplittableRandom(2);
    passes = packet -> random.nextInt(10) >= 3;
    transfer(3_000_000, 120);
    assertEquals(10 + 3_000_000, received());
    assertEquals(0, client.count(KcpCounter.MTU_BLACK_HOLES));
    assertEquals(1400, client.session.kcp().stats().mtuBytes());
  }

  /** Large datagrams find too few tokens oftener than small ones. */
  @ParameterizedTest
  @EnumSource
  void policerThatDropsByBytesEndsNothing(Delivery delivery) {
    begin(large().delivery(delivery));
    long[] bucket = {3_000, client.nowUs};
    passes =
        packet -> {
          bucket[0] = Math.min(3_000, bucket[0] + (client.nowUs - bucket[1]) * 60 / 1_000);
          bucket[1] = client.nowUs;
          boolean isPassed = packet.readableBytes() <= bucket[0];
          bucket[0] -= isPassed ? packet.readableBytes() : 0;
          return isPassed;
        };
    long endUs = client.nowUs + 60_000_000;
    int written = received();
    while (client.nowUs < endUs) {
      write(5_000);
      write(50);
      written += 5_050;
      runFor(150_000);
    }
    runFor(10_000_000);
    assertEquals(written, received());
    assertEquals(List.of(), client.ends);
    assertEquals(List.of(), server.ends);
  }
}
