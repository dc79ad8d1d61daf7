package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.JMException;
import javax.management.ObjectName;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What lanes take that have carried messages and are idle: the heap is measured. */
@Timeout(120)
class LaneMemoryTest {

  private static final int LANES = 10_000;

  /** The lanes that carry messages, beside one that has done so before. */
  private static final int USED = LANES - 1;

  private static final int MESSAGES = 3;

  private final AtomicInteger echoed = new AtomicInteger();

  private final class Counter extends SimpleChannelInboundHandler<LaneMessage> {
    @Override
    protected void channelRead0(ChannelHandlerContext ctx, LaneMessage message) {
      echoed.incrementAndGet();
    }
  }

  /**
   * Both ends of the session are in this process, so that there are two objects of each lane. What
   * queues and tables keep that have had something of all lanes counts, too: without giving that
   * back, a lane had more than 140 bytes. The limit leaves room for what else is on the heap. What
   * other tests have left there may go meanwhile.
   */
  @ParameterizedTest
  @EnumSource(names = {"RELIABLE_ORDERED", "RELIABLE_UNORDERED"})
  void burstOnAllLanesLeavesNothingButTheLanes(LaneKind kind) throws Exception {
    LanesConfig many =
        LanesConfig.builder()
            .maxLanes(LANES)
            .maxNewLanesPerSecond(LANES)
            .budgetBytes(16 << 20)
            .defaultLane(LaneConfig.of(kind))
            .build();
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.serverBootstrap.childOption(KcpChannelOption.DELIVERY, Delivery.LANES);
      fixture.serverBootstrap.childOption(KcpChannelOption.LANES, many);
      fixture.bootstrap.option(KcpChannelOption.DELIVERY, Delivery.LANES);
      fixture.bootstrap.option(KcpChannelOption.LANES, many);
      fixture.serve(Echo::new);
      use(fixture, fixture.connect(new Counter()), 1, USED, LANES); // Loads all classes.
      KcpChannel client = fixture.connect(new Counter());
      use(fixture, client, 0, 1, LANES);
      Heap before = Heap.now();
      use(fixture, client, 1, USED, LANES);
      Heap after = Heap.now();
      double each = (after.bytes() - before.bytes()) / (2.0 * USED);
      assertTrue(each <= 120, "bytes of a lane: " + each);
      assertEquals(2 * USED, after.lanes() - before.lanes());
    }
  }

  /** Lanes carry messages both ways, and come to rest. */
  private void use(Fixture fixture, Channel client, int from, int lanes, int atOnce) {
    for (int first = from; first < from + lanes; first += atOnce) {
      int end = Math.min(first + atOnce, from + lanes);
      int expected = echoed.get() + (end - first) * MESSAGES;
      for (int i = 0; i < MESSAGES; i++) {
        for (int lane = first; lane < end; lane++) {
          client.write(new LaneMessage(lane, Fixture.buffer(client, new byte[20])));
        }
      }
      client.flush();
      await().until(() -> echoed.get() == expected);
    }
    await().until(() -> fixture.children.stream().allMatch(LaneMemoryTest::isIdle));
    await().until(() -> isIdle((KcpChannel) client));
  }

  private static boolean isIdle(KcpChannel session) {
    return session
        .eventLoop()
        .submit(() -> session.session().get().kcp().isQuiescent())
        .syncUninterruptibly()
        .getNow();
  }

  /** What is reachable: in all, and the number of lanes. */
  private record Heap(long bytes, long lanes) {

    private static final Pattern LANES =
        Pattern.compile("(?m)(\\d+) +\\d+ +io.kcp4j.internal.lanes.Lane$");
    private static final Pattern TOTAL = Pattern.compile("(?m)^Total +\\d+ +(\\d+)");

    static Heap now() throws JMException {
      histogram(); // What finalizers and references have held is gone the next time.
      String histogram = histogram();
      return new Heap(number(TOTAL, histogram), number(LANES, histogram));
    }

    private static long number(Pattern pattern, String histogram) {
      Matcher matcher = pattern.matcher(histogram);
      assertTrue(matcher.find(), histogram);
      return Long.parseLong(matcher.group(1));
    }
  }

  private static String histogram() throws JMException {
    return (String)
        ManagementFactory.getPlatformMBeanServer()
            .invoke(
                new ObjectName("com.sun.management:type=DiagnosticCommand"),
                "gcClassHistogram",
                new Object[] {new String[0]},
                new String[] {String[].class.getName()});
  }
}
