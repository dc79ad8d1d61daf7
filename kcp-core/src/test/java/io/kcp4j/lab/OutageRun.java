package io.kcp4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpConfig;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.sim.Payload;
import io.kcp4j.sim.VirtualTime;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A client of kcp4j, a server, and a path between them that loses everything for some time. Checks
 * that all data arrives once and in order, and that no session of kcp4j ends.
 *
 * <p>Measures when the first data arrives after the outage. Its sender finds out that the path
 * works again, by its probes or by what the peer sends. A receiver that has nothing to send does
 * not know of the outage. So every direction matters:
 *
 * <ul>
 *   <li>If the data is lost, its sender has to send it again.
 *   <li>If the acknowledgements are lost, the receiver has a whole window already, and its sender
 *       has to learn that before it sends more.
 *   <li>If both are lost, neither knows what the other has received.
 * </ul>
 *
 * <p>kcp-go sends no probes: what it has to send again leaves when its own timeout says so,
 * whatever kcp4j does. So of {@link Load#FULL_WINDOWS} only what kcp4j sends is measured, and a
 * reply of kcp-go may take as long as that timeout.
 */
final class OutageRun {

  private static final int RTT_US = 40_000;

  /** A full queue takes two round trips, and acknowledgements are delayed. */
  private static final int LONGEST_TIMEOUT_US = 4 * RTT_US;

  private static final int SECOND_US = 1_000_000;
  private static final int WARM_UP_US = 2 * SECOND_US;

  /** How long the users go on writing after the outage. */
  private static final int AFTER_US = 2 * SECOND_US;

  private static final long BITS_PER_SECOND = 4_000_000;
  private static final int QUEUE_BYTES = 40_000;
  private static final int MESSAGE_BYTES = 100;
  private static final Traffic WRITES = new Traffic(1, MESSAGE_BYTES, 500);

  /** Windows that do not overflow the queue: kcp-go has no congestion control. */
  private static final int KCP_GO_WINDOW = 16;

  /** The behaviour of the users. */
  enum Load {
    /** The client sends a request when the server has echoed the one before. */
    REQUESTS,

    /** Both have always more to send than the windows take. */
    FULL_WINDOWS,

    /** The client writes 500 times a second. The server sends nothing but acknowledgements. */
    WRITES
  }

  /** Which datagrams an outage takes. */
  enum Direction {
    TO_SERVER,
    TO_CLIENT,
    BOTH
  }

  /**
   * An outage.
   *
   * @param seconds its least length; it may be longer by an eighth, at most by a second
   */
  record Outage(Load load, boolean isServerKcpGo, Direction direction, int seconds) {}

  /** A user that notes when the first data arrives after the outage. */
  private final class Endpoint implements LabUser {

    private final LabUser receiver;
    private final LabUser sender;
    private long firstAtUs = Long.MAX_VALUE;

    Endpoint(LabUser receiver, LabUser sender) {
      this.receiver = receiver;
      this.sender = sender;
    }

    @Override
    public void received(LabSession session, ByteBuf data) {
      if (time.nowUs() >= outageToUs) {
        firstAtUs = Math.min(firstAtUs, time.nowUs());
      }
      receiver.received(session, data);
    }

    @Override
    public void progressed(LabSession session) {
      sender.progressed(session);
    }
  }

  private final VirtualTime time = new VirtualTime();
  private final SplittableRandom random;
  private final Outage outage;
  private final LabHost client;
  private final LabPeer server;
  private final long outageFromUs;
  private final long outageUs;
  private final long outageToUs;
  private long boundUs;
  private final List<Endpoint> measured = new ArrayList<>();
  private final List<BulkReceiver> receivers = new ArrayList<>();

  private OutageRun(Outage outage, long seed) {
    this.outage = outage;
    random = new SplittableRandom(seed);
    outageFromUs = (long) WARM_UP_US + random.nextInt(SECOND_US);
    long leastUs = (long) outage.seconds * SECOND_US;
    // So that it ends anywhere between two probes.
    outageUs = leastUs + random.nextLong(Math.min(leastUs / 8, SECOND_US));
    outageToUs = outageFromUs + outageUs;
    client = host();
    server = outage.isServerKcpGo ? kcpGo() : serverOfClient();
    client.connect(link(outage.direction != Direction.TO_CLIENT, server));
    server.connect(link(outage.direction != Direction.TO_SERVER, client));
  }

  private LabHost host() {
    KcpConfig.Builder config = KcpConfig.builder();
    if (outage.seconds * 1_000 >= KcpConfig.DEFAULT.userTimeoutMs()) {
      config.userTimeoutMs(90_000);
    }
    return new LabHost(time, random.split(), config.build(), FecConfig.NONE);
  }

  /** Both have the extension, which says how long they delay ACKs. */
  private LabHost serverOfClient() {
    int delayMs = KcpConfig.DEFAULT.intervalMs();
    client.withPeerMaxAckDelayMs(delayMs);
    return host().withPeerMaxAckDelayMs(delayMs);
  }

  private LabPeer kcpGo() {
    return outage.load == Load.FULL_WINDOWS
        ? LabSide.kcpGoWithWindow(10, KCP_GO_WINDOW).create(time, random.split())
        : LabSide.kcpGo(10).create(time, random.split());
  }

  private LabLink link(boolean hasOutage, LabPeer to) {
    LinkSettings settings = LinkSettings.delay(RTT_US / 2).withRate(BITS_PER_SECOND, QUEUE_BYTES);
    LossModel loss =
        hasOutage ? LossModel.blackout(LossModel.NONE, outageFromUs, outageToUs) : LossModel.NONE;
    Bottleneck bottleneck = Bottleneck.of(settings);
    return new LabLink(time, random.split(), settings, loss, bottleneck, to::received);
  }

  /**
   * How much later than it should the first data arrives, in microseconds; negative if it is
   * earlier.
   */
  static long excessUs(Outage outage, long seed) {
    OutageRun run = new OutageRun(outage, seed);
    switch (outage.load) {
      case REQUESTS -> run.exchangeRequests();
      case FULL_WINDOWS -> run.fillWindows();
      case WRITES -> run.write();
    }
    long firstAtUs = run.measured.stream().mapToLong(e -> e.firstAtUs).max().getAsLong();
    return firstAtUs - run.outageToUs - run.boundUs;
  }

  private void runOutage() {
    time.runUntil(outageToUs);
    boundUs = Math.max(probeDistanceUs(), kcpGoTimeoutUs()) + 2 * RTT_US;
  }

  /** The distance of probes at the end of the outage; probe timeouts have not changed in it. */
  private long probeDistanceUs() {
    int timeoutUs = client.probeTimeoutUs();
    if (outage.load != Load.WRITES && server instanceof LabHost host) {
      timeoutUs = Math.max(timeoutUs, host.probeTimeoutUs());
    }
    long sixteenthUs = Math.min(outageUs / 16, SECOND_US);
    return Math.max(2L * Math.min(timeoutUs, LONGEST_TIMEOUT_US), sixteenthUs);
  }

  /** When kcp-go sends a lost reply again at the latest. */
  private long kcpGoTimeoutUs() {
    boolean isReplying = outage.load == Load.REQUESTS && outage.direction != Direction.TO_SERVER;
    return isReplying && server instanceof KcpGoPeer peer ? peer.longestTimeoutUs() : 0;
  }

  private void exchangeRequests() {
    RequestLoop loop = new RequestLoop(time, 1, MESSAGE_BYTES, new Payload(random.split()));
    server.listen(conv -> new EchoServer(MESSAGE_BYTES));
    Endpoint endpoint = new Endpoint(loop, loop);
    measured.add(endpoint);
    loop.start(client.open(1, endpoint));
    runOutage();
    time.runUntil(outageToUs + 2 * AFTER_US);
    int replies = loop.replies(outageToUs + AFTER_US, outageToUs + 2 * AFTER_US).size();
    assertTrue(replies > AFTER_US / RTT_US / 2, "replies: " + replies);
  }

  private void fillWindows() {
    Payload up = new Payload(random.split());
    Payload down = new Payload(random.split());
    long bytes = (outageFromUs + AFTER_US) * BITS_PER_SECOND / Byte.SIZE / SECOND_US;
    Endpoint toServer = new Endpoint(receiver(up), new BulkSender(down, bytes));
    Endpoint toClient = new Endpoint(receiver(down), new BulkSender(up, bytes));
    measured.add(toServer);
    if (!outage.isServerKcpGo) {
      measured.add(toClient);
    }
    server.listen(conv -> toServer);
    toClient.progressed(client.open(1, toClient));
    runOutage();
    awaitAll(bytes);
  }

  private void write() {
    Payload payload = new Payload(random.split());
    LabUser none =
        (session, data) -> {
          throw new AssertionError("a reply to writes");
        };
    TickSender sender = new TickSender(time, WRITES, payload, none, outageToUs + AFTER_US);
    Endpoint endpoint = new Endpoint(receiver(payload), none);
    measured.add(endpoint);
    server.listen(conv -> endpoint);
    sender.start(client.open(1, sender));
    runOutage();
    time.runUntil(outageToUs + AFTER_US);
    awaitAll(sender.messages() * MESSAGE_BYTES);
  }

  private LabUser receiver(Payload payload) {
    BulkReceiver receiver = new BulkReceiver(payload);
    receivers.add(receiver);
    return receiver;
  }

  /** Each receiver gets this number of bytes and no more. {@link Payload} checks their order. */
  private void awaitAll(long bytes) {
    long latestUs = time.nowUs() + 30 * SECOND_US;
    while (receivers.stream().anyMatch(r -> r.bytes() < bytes) && time.nowUs() < latestUs) {
      time.runUntil(time.nowUs() + SECOND_US);
    }
    time.runUntil(time.nowUs() + SECOND_US);
    for (BulkReceiver receiver : receivers) {
      assertEquals(bytes, receiver.bytes());
    }
  }
}
